"""Topics as a destination: a batch's records and its marker are in one Kafka transaction.

Called by the write engine (:mod:`oncelog.spark.sink.engine`) and by the carriers. The marker is an offset of the
consumer group that has the name of the transactional id; its metadata says which plan of which batch was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import Error, InvariantError, KafkaError
from oncelog.spark.kafka.interface import PartitionBatch, ProducerTransaction
from oncelog.spark.sink.engine import SinkRefused
from oncelog.spark.sink.marker import Found, Marker, Overwritten
from oncelog.types import ProducerIdAndEpoch, TopicPartition

MARKER_OFFSET = -1
"""The offset of a marker, of which only the metadata matters. Brokers store it, and tools that show a group's lag read
it as "nothing committed", so a marker's group never looks like a lagging consumer.
"""
WithTimeout: TypeAlias = Callable[[int], ProducerTransaction]
"""Creates a transaction with this timeout in ms; contacts no broker."""


class TopicTransaction:
    """A transaction into topics; implements :class:`oncelog.spark.sink.engine.SinkTransaction`.

    :param timeouts_ms: the transaction timeouts to try, until the broker accepts one.
    :param marker_partition: the partition for which the marker is committed.
    """

    def __init__(self, with_timeout: WithTimeout, timeouts_ms: Sequence[int], marker_partition: TopicPartition) -> None:
        self._with_timeout = with_timeout
        self._timeouts_ms = timeouts_ms
        self._marker_partition = marker_partition
        self._begun: ProducerTransaction | None = None
        self.timeout_ms = timeouts_ms[0]
        """The last timeout that was tried."""

    def look(self) -> Found:
        return found_in(
            self._with_timeout(self._timeouts_ms[0]).committed_offsets(self._marker_partition, require_stable=False)
        )

    def begin(self) -> None:
        for number, timeout_ms in enumerate(self._timeouts_ms, start=1):
            self.timeout_ms = timeout_ms
            self._begun = self._with_timeout(timeout_ms)
            try:
                return self._begun.init_producer_id()
            except KafkaError as error:
                if error.error is not Error.INVALID_TRANSACTION_TIMEOUT or number == len(self._timeouts_ms):
                    raise
        raise InvariantError("a batch was given no transaction timeout")

    def read_marker(self) -> Found:
        return found_in(self._producer.committed_offsets(self._marker_partition))

    def add_marker(self, marker: Marker) -> None:
        """Add the marker as an offset. If the broker allows less metadata than by default, the marker leaves out the
        plan's offsets.
        """
        short = replace(marker, offsets="").encode()
        for text in dict.fromkeys((marker.encode(), short)):
            try:
                return self._producer.add_offset(self._marker_partition, MARKER_OFFSET, text)
            except KafkaError as error:
                if error.error is not Error.OFFSET_METADATA_TOO_LARGE:
                    raise
        raise SinkRefused(
            f"The marker of batch {marker.batch_id} has {len(short)} bytes, more than the broker's "
            "offset.metadata.max.bytes allows: raise it (4096 unless set)"
        )

    def end(self, *, commit: bool) -> None:
        self._producer.end(commit=commit)

    def produce(self, batches: Iterable[PartitionBatch]) -> None:
        """Append in the given order, partition by partition."""
        self._producer.produce(batches)

    def share(self) -> ProducerIdAndEpoch:
        """Let other processes join the transaction, with the returned producer."""
        producer = self._producer.producer()
        self._producer.join(producer)
        return producer

    @property
    def _producer(self) -> ProducerTransaction:
        if self._begun is None:
            raise InvariantError("a transaction was used before it began")
        return self._begun


def found_in(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Found:
    """The marker among its group's offsets. If there is none but other clients' offsets, these are reported, so that
    they do not count as a missing marker."""
    marker = newest_marker(offsets)
    if marker is None and offsets:
        found = ", ".join(f"{offset.offset} for {partition}" for partition, offset in sorted(offsets.items()))
        return Overwritten(found)
    return marker


def newest_marker(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> Marker | None:
    """The group's newest marker. A group has several markers if the option ``markerTopic`` was changed."""
    decoded = (Marker.decode(offset.metadata) for _, offset in sorted(offsets.items()))
    return max((marker for marker in decoded if marker), key=lambda marker: marker.batch_id, default=None)
