from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from oncelog.client.aio import settled_ends
from oncelog.client.aio.offset_lookups import FoundOffset
from oncelog.client.aio.settled_ends import SettledEnds
from oncelog.client.core.admin.admin_types import ProducerState, TransactionListing
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


class Cluster:
    """Partitions with a last stable offset and an end, and transactions with a state, which a test changes as it asks.

    :param moves: how often the states of transactions are asked before each last stable offset reaches its end.
    """

    def __init__(self, stable: Mapping[TopicPartition, int], end: int, states: Mapping[int, str] | KafkaError) -> None:
        self.stable = dict(stable)
        self.end = end
        self.states = states
        self.moves: int | None = None
        self.asked = self.looked_up = self.epoch = 0

    async def list_offsets(
        self, _: Any, wanted: Mapping[TopicPartition, int], *, read_committed: bool, wait_for_unknown_s: float
    ) -> dict[TopicPartition, FoundOffset]:
        self.asked += 1
        return {name: FoundOffset(self.stable[name] if read_committed else self.end, -1, self.epoch) for name in wanted}

    async def describe_producers(
        self, _: Any, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, list[ProducerState]]:
        later = ProducerState(99, 0, 0, 0, 0, self.end - 1)
        idle = ProducerState(98, 0, 0, 0, 0, -1)
        return {
            name: [later, ProducerState(name.partition, 0, 0, 0, 0, self.stable[name]), idle] for name in partitions
        }

    async def list_transactions(self, _: Any, *, producer_ids: Sequence[int]) -> list[TransactionListing]:
        self.looked_up += 1
        if self.moves is not None and self.looked_up > self.moves:
            self.stable = dict.fromkeys(self.stable, self.end)
        if isinstance(self.states, KafkaError):
            raise self.states
        return [TransactionListing(f"id-{one}", one, state) for one, state in self.states.items()]


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No wait ends by itself, unless a test says so."""
    monkeypatch.setattr(settled_ends, "WAIT_FOR_MARKERS_S", 3600.0)
    monkeypatch.setattr(settled_ends, "WAIT_FOR_UNKNOWN_S", 3600.0)
    return monkeypatch


def ends(cluster: Cluster, limits: pytest.MonkeyPatch) -> SettledEnds:
    for name in ("list_offsets", "describe_producers", "list_transactions"):
        limits.setattr(settled_ends, name, getattr(cluster, name))
    return SettledEnds(cast(Any, cluster))


def of(settled: SettledEnds, *names: TopicPartition, read: Mapping[TopicPartition, int] | None = None) -> list[int]:
    found = asyncio.run(settled.of(names, read=read))
    return [found[name].offset for name in names]


def test_end_offsets_without_open_transactions_take_one_request_per_isolation_level(limits: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 9, TWO: 9}, 9, {})
    assert of(ends(cluster, limits), ONE, TWO) == [9, 9]
    assert (cluster.asked, cluster.looked_up) == (2, 0)


def test_unchanged_end_offsets_take_one_request(limits: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 9, TWO: 9}, 9, {0: "Ongoing"})
    settled = ends(cluster, limits)
    assert [of(settled, ONE, TWO), of(settled, ONE, TWO), of(settled, ONE)] == [[9, 9], [9, 9], [9]]
    assert cluster.asked == 2 + 1 + 1
    cluster.end = 12  # in an open transaction
    assert [of(settled, ONE), of(settled, ONE)] == [[9], [9]]


def test_an_end_offset_that_an_open_transaction_holds_back_is_requested_again_each_time(
    limits: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster({ONE: 4}, 9, {0: "Ongoing"})
    settled = ends(cluster, limits)
    assert of(settled, ONE) == [4]
    cluster.stable[ONE] = 6
    assert of(settled, ONE) == [6]


def test_an_end_offset_is_requested_again_if_the_leader_changed(limits: pytest.MonkeyPatch) -> None:
    """The new leader may have cut the log, and have other records up to the same end."""
    cluster = Cluster({ONE: 9}, 9, {0: "Ongoing"})
    settled = ends(cluster, limits)
    assert of(settled, ONE) == [9]
    cluster.epoch, cluster.stable[ONE] = 1, 5
    assert of(settled, ONE) == [5]


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_settled_end_offsets_wait_for_a_transaction_that_is_being_ended(limits: pytest.MonkeyPatch, state: str) -> None:
    cluster = Cluster({ONE: 4}, 9, {0: state})
    cluster.moves = 3
    assert of(ends(cluster, limits), ONE) == [9]


def test_settled_end_offsets_do_not_wait_for_an_open_transaction(limits: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 4}, 9, {0: "Ongoing"})
    assert of(ends(cluster, limits), ONE) == [4]


def test_the_first_open_transaction_of_a_partition_decides_its_settled_end_offset(limits: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 4}, 9, {0: "Ongoing", 99: "PrepareCommit"})
    assert of(ends(cluster, limits), ONE) == [4]


def test_settled_end_offsets_wait_for_a_partition_despite_an_open_transaction_in_another(
    limits: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster({ONE: 4, TWO: 5}, 9, {0: "Ongoing", 1: "PrepareCommit"})
    settled = ends(cluster, limits)

    async def list_transactions(_: Any, *, producer_ids: Sequence[int]) -> list[TransactionListing]:
        if cluster.asked > 4:
            cluster.stable[TWO] = 9
        return [TransactionListing("a", 0, "Ongoing"), TransactionListing("b", 1, "PrepareCommit")]

    limits.setattr(settled_ends, "list_transactions", list_transactions)
    assert of(settled, ONE, TWO) == [4, 9]


def test_records_of_a_transaction_that_ended_between_two_requests_are_read(limits: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 4}, 9, {0: "Ongoing"})  # of the next transaction of this producer
    cluster.moves = 0
    assert of(ends(cluster, limits), ONE) == [9]


@pytest.mark.parametrize(
    "states",
    [
        {},
        KafkaError(Error.UNSUPPORTED_VERSION, "no such request"),
        KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED, "not allowed"),
    ],
)
def test_the_end_of_a_transaction_of_unknown_state_is_awaited_once(
    limits: pytest.MonkeyPatch, states: Mapping[int, str] | KafkaError
) -> None:
    limits.setattr(settled_ends, "WAIT_FOR_UNKNOWN_S", 0.001)
    cluster = Cluster({ONE: 4}, 9, states)
    settled = ends(cluster, limits)
    assert of(settled, ONE) == [4]
    limits.setattr(settled_ends, "WAIT_FOR_UNKNOWN_S", 3600.0)
    assert of(settled, ONE) == [4]
    cluster.stable[ONE], cluster.moves = 6, cluster.looked_up + 1
    assert of(settled, ONE) == [9]


def test_the_wait_for_settled_end_offsets_ends_with_a_warning_if_markers_are_missing(
    limits: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    limits.setattr(settled_ends, "WAIT_FOR_MARKERS_S", 0.001)
    cluster = Cluster({ONE: 4}, 9, {0: "PrepareCommit"})
    assert of(ends(cluster, limits), ONE) == [4]
    assert "the records of t-0 from offset 4 on are left for a later read" in caplog.text


def test_a_read_does_not_wait_for_settled_end_offsets_while_other_records_are_available(
    limits: pytest.MonkeyPatch,
) -> None:
    cluster = Cluster({ONE: 4, TWO: 8}, 9, {0: "PrepareCommit", 1: "PrepareCommit"})
    settled = ends(cluster, limits)
    assert of(settled, ONE, TWO, read={ONE: 4, TWO: 7}) == [4, 8]
    assert cluster.looked_up == 0
    cluster.moves = 2
    assert of(settled, ONE, TWO, read={ONE: 4, TWO: 8}) == [9, 9]


def test_an_error_of_list_offsets_is_raised(limits: pytest.MonkeyPatch) -> None:
    cluster = Cluster({ONE: 4}, 9, KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, "t-0 does not exist"))
    with pytest.raises(KafkaError, match="does not exist"):
        of(ends(cluster, limits), ONE)
