"""Members of a group that come and go, and note what they own: no partition may have two owners."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from oncelog.client.aio import Consumer, Producer
from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener
from oncelog.types import TopicPartition
from tests.simulation.programs import Copier, abandon

SLOW_S = 5.0
"""So long does a member take at most to give partitions up: others ask several times meanwhile."""


class Ownership(ConsumerRebalanceListener):
    """What one life of a member owns."""

    def __init__(self, member: Mover) -> None:
        self._member = member
        self.held: set[TopicPartition] = set()

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        for other in self._member.members:
            if other is not self._member:
                self._member.history.errors += [
                    f"{self._member.name} is given {where}, which {other.name} has not given up"
                    for where in sorted(other.owned & set(assigned))
                ]
        self.held |= set(assigned)

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await asyncio.sleep(self._member.rng.uniform(0, SLOW_S))
        self.held -= set(revoked)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        self.held -= set(lost)


class Mover(Copier):
    """A copier that leaves its group every few records and joins it again; ``members`` are all of its group."""

    def __init__(self, *arguments: Any, members: list[Mover]) -> None:
        super().__init__(*arguments)
        self.members = members
        self._ownership = Ownership(self)

    @property
    def owned(self) -> set[TopicPartition]:
        """What it owns; a process that was killed owns nothing."""
        return self._ownership.held if self.world.processes[self.name].alive else set()

    async def live(self, life: str) -> None:
        self._ownership = Ownership(self)  # of the life before nothing is left
        producer = Producer(**self.producer_settings)
        await producer.start()
        try:
            while not self.done:
                await self._membership(producer, life)
        except BaseException:
            await abandon(producer)
            raise
        await producer.stop()

    async def _membership(self, producer: Producer, life: str) -> None:
        consumer = Consumer(auto_offset_reset="earliest", enable_auto_commit=False, **self.group_settings)
        consumer.subscribe([self.source], listener=self._ownership)
        try:
            await consumer.start()
            until = self.world.now_s + self.rng.uniform(1, 8)
            while not self.done and (self.world.now_s < until or self.world.is_calm):
                records = await consumer.getmany(timeout_ms=500, max_records=self.rng.randint(1, 20))
                if records:
                    await self.copy(consumer, producer, life, records)
        except BaseException:
            self._ownership.held.clear()
            await abandon(consumer)
            raise
        self._ownership.held.clear()
        await consumer.stop()
        await asyncio.sleep(self.rng.expovariate(1.0))


__all__ = ["Mover"]
