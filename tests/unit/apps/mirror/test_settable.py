"""The groups whose positions may be set on the target."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.apps.mirror.groups import settable
from oncelog.client.core.client_errors import KafkaTimeoutError
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.types import TopicPartition

NAME = TopicPartition("t", 0)
WANTED = {("g", NAME): OffsetAndMetadata(9, "")}
WRITTEN = {("g", NAME): OffsetAndMetadata(5, "")}


class Target:
    """Knows one group without members; the latest decision is in force only if a stable answer is awaited."""

    def __init__(self, now: int, stable: int | None) -> None:
        self.now = now
        self.stable = stable

    async def list_consumer_groups(self) -> list[Any]:
        return [SimpleNamespace(group_id="g", state="Empty")]

    async def list_consumer_group_offsets(
        self, group: str, *, require_stable: bool = False, negative: bool = False
    ) -> Any:
        if require_stable and self.stable is None:
            raise KafkaTimeoutError("a transaction is open")
        return {NAME: OffsetAndMetadata(self.stable if require_stable and self.stable is not None else self.now, "")}


@pytest.mark.parametrize(
    ("now", "stable", "alone"),
    [(5, 5, False), (4, 5, False), (4, 4, True), (4, None, True), (5, None, False)],
)
def test_a_group_is_left_unchanged_only_if_another_client_has_moved_it(
    now: int, stable: int | None, alone: bool
) -> None:
    admin: Any = Target(now, stable)
    found = asyncio.run(settable(admin, WANTED, WRITTEN))
    assert ("g" in found.left_alone) is alone
    assert ("g" in found.positions) is not alone


@pytest.mark.parametrize("there", [OffsetAndMetadata(-1, "batch 4"), OffsetAndMetadata(-1, "batch 6"), None])
def test_the_group_offset_of_a_spark_marker_is_compared_by_its_metadata(there: OffsetAndMetadata | None) -> None:
    async def offsets(group: str, *, require_stable: bool, negative: bool) -> Any:
        return {NAME: there} if there is not None and negative else {}

    async def groups() -> list[Any]:
        return [SimpleNamespace(group_id="g", state="Empty")]

    admin: Any = SimpleNamespace(list_consumer_groups=groups, list_consumer_group_offsets=offsets)
    wanted = {("g", NAME): OffsetAndMetadata(-1, "batch 5")}
    found = asyncio.run(settable(admin, wanted, {("g", NAME): OffsetAndMetadata(-1, "batch 4")}))
    moved = there is not None and there.metadata == "batch 6"
    assert found.left_alone == ({"g": "its marker of t-0 on the target is not the mirror's"} if moved else {})
