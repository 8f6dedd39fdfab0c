"""A partition of an internal topic that cannot be read has no coordinator; all others have theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from oncelog.broker.coordinator.runtime import (
    Appended,
    CoordinatorRecord,
    CoordinatorRuntime,
    LoggedMarker,
    LoggedRecord,
)
from oncelog.errors import CorruptLogError, Error
from oncelog.runtime.deferred import Deferred
from oncelog.types import NO_PRODUCER, TopicPartition


class Fold:
    """A shard that fails on one key."""

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
def test_an_unreadable_record_stops_only_the_coordinator_of_its_partition(
    bad: Iterator[LoggedRecord], caplog: pytest.LogCaptureFixture
) -> None:
    runtime: CoordinatorRuntime[Fold] = CoordinatorRuntime(cast(Any, None), "__consumer_offsets", 2, Fold)
    owners = {runtime.partition_for(key).partition: key for key in "abcdefgh"}
    runtime.load(0, 0, bad, 0)
    runtime.load(1, 0, log_of(b"a", b"b"), 0)
    assert runtime.shard_for(owners[0], node_id=None) is Error.COORDINATOR_NOT_AVAILABLE
    served = runtime.shard_for(owners[1], node_id=None)
    assert isinstance(served, Fold)
    assert (served.keys, served.began) == ([b"a", b"b"], True)
    assert runtime.unreadable == 1
    assert "__consumer_offsets-0" in caplog.text


class Host:
    """A log that accepts what it is given, or refuses it."""

    def __init__(self, error: Error) -> None:
        self.error = error

    def append_records(self, *args: object) -> Appended:
        return Appended(self.error, 0, Deferred.of(self.error))


@pytest.mark.parametrize(
    ("error", "replayed", "applied"), [(Error.NONE, [b"k"], 1), (Error.NOT_ENOUGH_REPLICAS, [], 0)]
)
def test_appended_records_are_applied_when_the_caller_decides_and_records_of_a_failed_append_never(
    error: Error, replayed: list[bytes], applied: int
) -> None:
    runtime: CoordinatorRuntime[Fold] = CoordinatorRuntime(cast(Any, Host(error)), "__consumer_offsets", 1, Fold)
    runtime.load(0, 0, iter(()), 0)
    partition, calls = runtime.partition_for("k"), []
    shard = cast(Fold, runtime.shard(0))
    assert runtime.write(partition, [CoordinatorRecord(b"k", b"")], 0).value is error
    assert shard.keys == replayed
    written = runtime.write(partition, [CoordinatorRecord(b"k", b"")], 0, apply=lambda _: calls.append(1))
    assert (written.value, len(calls), shard.keys) == (error, applied, replayed)
