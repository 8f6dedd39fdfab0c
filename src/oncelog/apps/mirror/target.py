"""The mirror's access to the target: its transactions, and its map topic, which is written in them and read back at a
start.

Called by :mod:`oncelog.apps.mirror.run`. Opening the target fences an older mirror of the same name and ends its open
transaction before the map is read, so no other mirror changes the map after that.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from oncelog.apps.mirror.mirror_errors import MirrorRefused
from oncelog.apps.mirror.mirrored_topics import MAP_PREFIX
from oncelog.apps.mirror.offset_map import MirrorState
from oncelog.apps.mirror.reading import committed_batches
from oncelog.client.aio.admin.admin import Admin, ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST
from oncelog.client.aio.transactions.batch_transaction import BatchTransactions, ReadyBatch
from oncelog.client.core.client_errors import TopicAlreadyExistsError
from oncelog.errors import Error, KafkaError
from oncelog.records.batch import BatchBuilder, decode_records
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

TIMEOUTS_MS = (900_000, 60_000)
"""The timeouts to try: the default of Apache Kafka's ``transaction.max.timeout.ms``, then one that every broker
allows."""
_BATCH_BYTES = 512 * 1024
_REQUEST_BYTES = 8 * 1024 * 1024


class Target:
    """The transactional id and the map topic of one mirror.

    :param timeout_ms: the transactions' timeout; None for the longest that the target allows.
    """

    def __init__(self, admin: Admin, name: str, timeout_ms: int | None) -> None:
        self.admin = admin
        self.transactional_id = f"oncelog-mirror-{name}"
        self.map = TopicPartition(f"{MAP_PREFIX}{name}", 0)
        self._timeouts_ms = TIMEOUTS_MS if timeout_ms is None else (timeout_ms,)
        self.timeout_ms = self._timeouts_ms[0]
        self.transactions = self._transactions(self.timeout_ms)

    def _transactions(self, timeout_ms: int) -> BatchTransactions:
        return BatchTransactions(
            self.admin.cluster, self.transactional_id, timeout_ms, max_request_bytes=_REQUEST_BYTES
        )

    async def open(self) -> MirrorState:
        """Fence older mirrors, and read the map as the last committed round left it."""
        await self._fence()
        await self._make_map()
        state = MirrorState()
        begin = (await self.admin.list_offsets({self.map: EARLIEST}))[self.map].offset
        end = (await self.admin.list_offsets({self.map: LATEST}))[self.map].offset
        async for _, data in committed_batches(self.admin, self.map, begin, end):
            for record in decode_records(data):
                state.apply(record.key, record.value)
        return state

    async def _fence(self) -> None:
        for timeout_ms in self._timeouts_ms:
            self.timeout_ms = timeout_ms
            self.transactions = self._transactions(timeout_ms)
            try:
                await self.transactions.init()
            except KafkaError as error:
                if error.error is not Error.INVALID_TRANSACTION_TIMEOUT or timeout_ms == self._timeouts_ms[-1]:
                    raise
            else:
                return

    async def _make_map(self) -> None:
        topic = self.map.topic
        if topic not in await self.admin.list_topics():
            with suppress(TopicAlreadyExistsError):  # an earlier attempt created the topic, but its answer was lost
                await self.admin.create_topics([NewTopic(topic, 1, -1, {}, {"cleanup.policy": "compact"})])
            return
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        settings = (await self.admin.describe_configs([resource], names=["cleanup.policy"]))[resource]
        if settings["cleanup.policy"].value != "compact" or len(await self.admin.partitions(topic)) != 1:
            raise MirrorRefused(
                f"the topic {topic!r} on the target is not as the mirror created it (one partition, "
                "cleanup.policy=compact), so it may have lost the mirror's position: correct it, or use "
                "another --name"
            )

    async def write_map(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Write records of the map in the open transaction."""
        builder = BatchBuilder()
        for key, value in records:
            if builder.count and builder.size_bytes + len(key) + len(value or b"") > _BATCH_BYTES:
                await self._append(builder)
                builder = BatchBuilder()
            builder.append(real_time.time_ms(), key, value)
        if builder.count:
            await self._append(builder)

    async def _append(self, builder: BatchBuilder) -> None:
        await self.transactions.append({self.map: ReadyBatch(builder.count, builder.build())})
