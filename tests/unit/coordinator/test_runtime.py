"""A partition of an internal topic that cannot be read has no coordinator; all others have theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from oncelog.coordinator.runtime import CoordinatorRuntime, LoggedMarker, LoggedRecord
from oncelog.errors import CorruptLogError, Error
from oncelog.types import NO_PRODUCER, TopicPartition


class Fold:
    """A shard that cannot make sense of one key."""

    def __init__(self, partition: TopicPartition, epoch: int) -> None:
        self.keys: list[bytes] = []
        self.began = False

    def replay(self, record: LoggedRecord) -> None:
        if record.key == b"damaged":
            raise ValueError("no record")
        self.keys.append(record.key)

    def replay_marker(self, marker: LoggedMarker) -> None:
        raise AssertionError("there are no transactions here")

    def loaded(self, now_ms: int) -> None:
        self.began = True

    def unloaded(self) -> None:
        self.began = False


def log_of(*keys: bytes) -> Iterator[LoggedRecord]:
    for offset, key in enumerate(keys):
        yield LoggedRecord(offset, 0, NO_PRODUCER, key, b"")


def torn_log() -> Iterator[LoggedRecord]:
    yield from log_of(b"a")
    raise CorruptLogError("offset 1 is no batch")


@pytest.mark.parametrize("bad", [log_of(b"a", b"damaged", b"b"), torn_log()])
def test_an_unreadable_record_costs_its_own_partition_its_coordinator(
    bad: Iterator[LoggedRecord], caplog: pytest.LogCaptureFixture
) -> None:
    runtime: CoordinatorRuntime[Fold] = CoordinatorRuntime(cast(Any, None), "__consumer_offsets", 2, Fold)
    owners = {runtime.partition_for(key).partition: key for key in "abcdefgh"}
    runtime.load(0, 0, bad, 0)
    runtime.load(1, 0, log_of(b"a", b"b"), 0)
    assert runtime.shard_for(owners[0]) is Error.COORDINATOR_NOT_AVAILABLE
    served = runtime.shard_for(owners[1])
    assert isinstance(served, Fold)
    assert (served.keys, served.began) == ([b"a", b"b"], True)
    assert not runtime.is_whole
    assert not runtime.loading
    assert "__consumer_offsets-0" in caplog.text
