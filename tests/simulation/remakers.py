"""A topic that is deleted and recreated while a group's offsets in it are committed in transactions.

Each offset carries the id of the topic that its writer knew: what is committed must be of the topic that is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.connection.cluster_access import ClusterAccess
from oncelog.client.aio.transactions.batch_transaction import BatchTransactions
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.client_errors import AbortableTransactionError, TopicAlreadyExistsError
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import KafkaError
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.types import TopicPartition
from tests.simulation.programs import Program

REMADE = TopicPartition("remade", 0)
GROUP = "remade"
TIMES = 6


class Remaker(Program):
    """Makes the topic, deletes it and makes it again."""

    alone = True

    async def live(self, life: str) -> None:
        async with Admin(**self.settings) as admin:
            while True:
                with suppress(TopicAlreadyExistsError):
                    await admin.create_topics([NewTopic(REMADE.topic, 1, 1)])
                if self._count >= TIMES:
                    self.done = True
                    return
                await asyncio.sleep(self.rng.uniform(0, 4))
                await admin.delete_topics([REMADE.topic])
                self._count += 1
                await asyncio.sleep(self.rng.choice([0, self.rng.uniform(0, 2)]))


class _OnCluster(Program):
    @asynccontextmanager
    async def cluster(self) -> AsyncIterator[ClusterAccess]:
        cluster = ClusterAccess(ClientConfig.from_keywords(**self.settings), timeout_ms=60_000)
        await cluster.start()
        try:
            yield cluster
        finally:
            await cluster.close()


class OffsetWriter(_OnCluster):
    """Commits offsets of the topic until nobody makes it again; ``remaker`` is who does."""

    remaker: Remaker

    async def live(self, life: str) -> None:
        async with self.cluster() as cluster:
            transactions = BatchTransactions(cluster, self.name, 10_000)
            await transactions.init()
            while not self.remaker.done or self._count < 20:
                self._count += 1
                await cluster.topic(REMADE.topic)
                known = cluster.metadata.topic_id(REMADE.topic).hex()
                try:
                    await transactions.add_offsets(GROUP, {REMADE: OffsetAndMetadata(self._count, known)})
                except AbortableTransactionError as error:
                    self.world.note(f"refused: {error.error.name}", self.name)
                    await transactions.end(commit=False)
                    await transactions.init()
                    continue
                await asyncio.sleep(self.rng.choice([0, self.rng.uniform(0, 1)]))
                await transactions.end(commit=self.rng.random() < 0.8)
            self.done = True


class OffsetsAuditor(_OnCluster):
    """Looks at what is committed until all others are done; ``others`` are they."""

    others: list[Program]

    async def live(self, life: str) -> None:
        async with self.cluster() as cluster, Admin(**self.settings) as admin:
            last = False
            while not last:
                last = all(other.done for other in self.others)
                if wrong := await self._wrong(cluster, admin):
                    self.history.errors.append(wrong)
                await asyncio.sleep(self.rng.uniform(0, 0.2))
            self.done = True

    async def _wrong(self, cluster: ClusterAccess, admin: Admin) -> str:
        """What is committed for another topic than is there; empty if nothing is, or if it cannot be told now."""
        cluster.metadata.want([REMADE.topic])
        await cluster.refresh()
        here = cluster.metadata.topic_id(REMADE.topic).hex()
        try:
            committed = (await admin.list_consumer_group_offsets(GROUP)).get(REMADE)
        except KafkaError:
            return ""
        await cluster.refresh()
        after = cluster.metadata.topic_id(REMADE.topic)
        if committed is None or after == ZERO_UUID or after.hex() != here or committed.metadata == here:
            return ""
        return f"offset {committed.offset} of topic {committed.metadata} is committed for {here}"


__all__ = ["OffsetWriter", "OffsetsAuditor", "Remaker"]
