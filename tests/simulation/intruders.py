"""A transactional program amid whose transactions somebody writes what must be refused: plain batches, and markers that
a coordinator of another epoch, or one that is late, would send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.connection.wire import Api
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from oncelog.records.batch import BatchBuilder
from oncelog.types import ProducerIdAndEpoch, TopicPartition
from tests.simulation.raw import REFUSED_SOON_MS, RawTransactions

WRITE_TXN_MARKERS = Api(ApiKey.WRITE_TXN_MARKERS, 2, 2)
Intrusion = Callable[[TopicPartition, ProducerIdAndEpoch], Coroutine[Any, Any, None]]


class IntrudedTransactions(RawTransactions):
    """Each transaction of version 2 is intruded upon once, where it has written."""

    async def amid(self, wheres: Sequence[TopicPartition], producer: ProducerIdAndEpoch) -> None:
        intrusions: Sequence[Intrusion] = (
            self._plain_batch,
            self._marker_of_the_epoch_before,
            self._marker_of_this_epoch,
            self._marker_of_a_coordinator_before,
        )
        await self.rng.choice(intrusions)(self.rng.choice(wheres), producer)

    async def _plain_batch(self, where: TopicPartition, producer: ProducerIdAndEpoch) -> None:
        builder = BatchBuilder()
        for value in self.forbidden("it is not transactional, and its producer has an open transaction"):
            builder.append(time.time_ns() // 1_000_000, None, value)
        payload = builder.build(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=self.next_sequence(where),
            transactional=False,
        )
        await self.must_be_refused(where, bytes(payload))

    async def _marker_of_the_epoch_before(self, where: TopicPartition, producer: ProducerIdAndEpoch) -> None:
        if producer.producer_epoch:
            before = producer._replace(producer_epoch=producer.producer_epoch - 1)
            await self._marker(where, before, self._coordinator_epoch(where, producer), "of the epoch before")

    async def _marker_of_this_epoch(self, where: TopicPartition, producer: ProducerIdAndEpoch) -> None:
        """Version 2 ends a transaction with the next epoch."""
        await self._marker(where, producer, self._coordinator_epoch(where, producer), "of the transaction's own epoch")

    async def _marker_of_a_coordinator_before(self, where: TopicPartition, producer: ProducerIdAndEpoch) -> None:
        epoch = self._coordinator_epoch(where, producer)
        if epoch > 0:  # it has ended a transaction here
            after = producer._replace(producer_epoch=producer.producer_epoch + 1)
            await self._marker(where, after, epoch - 1, "of a coordinator that was replaced")

    def _coordinator_epoch(self, where: TopicPartition, producer: ProducerIdAndEpoch) -> int:
        """What the partition has seen last from this producer's coordinator."""
        partition = self.world.broker.server.broker.partition(where) if self.world.broker.is_running else None
        known = partition.log.active_producers() if partition is not None else ()
        return max((one.coordinator_epoch for one in known if one.producer_id == producer.producer_id), default=0)

    async def _marker(
        self, where: TopicPartition, producer: ProducerIdAndEpoch, coordinator_epoch: int, whose: str
    ) -> None:
        marker = WritableTxnMarker(
            producer.producer_id,
            producer.producer_epoch,
            self.rng.random() < 0.5,
            [WritableTxnMarkerTopic(where.topic, [where.partition])],
            max(coordinator_epoch, 0),
            2,
        )

        async def ask(node: int) -> None:
            answer = await self.cluster.ask(node, WRITE_TXN_MARKERS, lambda _: WriteTxnMarkersRequest([marker]))
            error = error_of(answer.markers[0].topics[0].partitions[0].error_code)
            if error is not Error.NONE:
                raise error_for(error, f"{where}: a marker {whose}")
            self.history.errors.append(f"{self.name}: a marker {whose} is written to {where}")

        try:
            await self.cluster.at_leader("WriteTxnMarkers", where, ask, timeout_ms=REFUSED_SOON_MS)
        except KafkaError as error:
            self.world.note(f"refused: {error.error.name}", self.name)


__all__ = ["IntrudedTransactions"]
