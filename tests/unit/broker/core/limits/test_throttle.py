"""Client quotas: which one applies, and how long its client waits."""

from __future__ import annotations

import pytest

from oncelog.apps.conformance.raw.batches import batch
from oncelog.broker.core.limits.buckets import LONGEST_NAME, LONGEST_WAIT_MS, MAX_BUCKETS, Buckets
from oncelog.broker.core.limits.throttle import (
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Throttle,
)
from oncelog.broker.metadata.store import QuotaEntity
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.fetch_request import FetchPartition, FetchRequest, FetchTopic
from oncelog.protocol.generated.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.support.work import Ticks
from tests.unit.broker.core.conftest import NOW_MS, Admin
from tests.unit.broker.core.limits.test_long_requests import PARTITIONS, Peer, send

WINDOW_MS = 1000
NOW = 1_000_000


def entity(user: str | None = "", client: str | None = "") -> QuotaEntity:
    parts = [("client-id", client)] if client != "" else []
    return (*parts, *([("user", user)] if user != "" else []))


def throttle(quotas: dict[QuotaEntity, float]) -> Throttle:
    return Throttle({one: {PRODUCER_BYTE_RATE: rate} for one, rate in quotas.items()}, WINDOW_MS, 1)


def use(owner: Throttle, amount: float, *, user: str = "alice", client: str = "c", now_ms: int = NOW) -> int:
    return owner.use(PRODUCER_BYTE_RATE, f"User:{user}", client, amount, now_ms)


def test_unused_quota_of_a_window_can_be_used_at_once_and_further_use_waits_at_the_rate() -> None:
    owner = throttle({entity("alice"): 1000.0})
    assert use(owner, 1000) == 0
    assert use(owner, 500) == 500
    assert use(owner, 0, now_ms=NOW + 500) == 0
    assert use(owner, 2000, now_ms=NOW + 60_000) == 1000


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_setting_the_clock_does_not_change_how_long_a_throttled_client_waits(step_ms: int) -> None:
    owner = throttle({entity("alice"): 1000.0})
    assert use(owner, 1500) == 500
    owner.clock_was_set(step_ms)
    assert use(owner, 100, now_ms=NOW + step_ms) == 600


def test_the_clients_of_a_user_share_the_quota_of_the_user() -> None:
    owner = throttle({entity("alice"): 1000.0})
    assert use(owner, 1000, client="a") == 0
    assert use(owner, 1000, client="b") == 1000
    assert use(owner, 10**9, user="bob") == 0


def test_the_most_specific_quota_applies() -> None:
    quotas = {
        entity(client=None): 1.0,
        entity(client="c"): 2.0,
        entity(None): 3.0,
        entity(None, None): 4.0,
        entity(None, "c"): 5.0,
        entity("alice"): 6.0,
        entity("alice", None): 7.0,
        entity("alice", "c"): 8.0,
    }
    while quotas:
        strictest = max(quotas.values())
        assert use(throttle(quotas), 2 * strictest) == 1000, quotas
        quotas = {one: rate for one, rate in quotas.items() if rate < strictest}


@pytest.mark.parametrize("one", [(("ip", "192.0.2.1"),), (("ip", None),)])
def test_quotas_of_addresses_do_not_apply_to_users(one: QuotaEntity) -> None:
    assert not Throttle({one: {"connection_creation_rate": 5.0}}, WINDOW_MS, 1).is_needed


def test_a_strict_quota_that_is_used_up_does_not_count_refused_usage() -> None:
    owner = Throttle({(("user", "u"),): {CONTROLLER_MUTATION_RATE: 1.0}}, 1000)

    def take(amount: float, now_ms: int) -> int:
        return owner.take(CONTROLLER_MUTATION_RATE, "User:u", "c", amount, now_ms)

    # As Apache Kafka 4.3.1: a window of 11 s saved up, 20 used, 9 s to wait whatever is asked meanwhile.
    assert take(20, 100_000) == 0
    assert take(30, 100_000) == 9000
    assert take(30, 100_000) == 9000
    assert take(1, 108_999) == 1
    assert take(1, 109_000) == 0
    assert take(1, 109_000) == 1000


def test_a_tiny_quota_rate_causes_a_long_wait_and_no_overflow() -> None:
    owner = Throttle({(("user", "u"),): {PRODUCER_BYTE_RATE: 1e-300}}, 1000)
    assert owner.use(PRODUCER_BYTE_RATE, "User:u", "c", 1e9, 100_000) == LONGEST_WAIT_MS
    assert owner.use(PRODUCER_BYTE_RATE, "User:u", "c", 1e9, 100_001) == LONGEST_WAIT_MS


def test_invented_client_ids_take_bounded_memory_and_end_no_wait_of_a_throttled_client() -> None:
    owner = throttle({entity(client=None): 1000.0})
    assert use(owner, 9_000, client="waits") == 8_000
    for number in range(2 * MAX_BUCKETS):
        use(owner, 2, client=f"{number}" + "x" * 30_000)
    assert len(owner.buckets) <= MAX_BUCKETS
    assert max(len(name or "") for (_, _, name), _ in owner.buckets.items()) == LONGEST_NAME
    assert use(owner, 0, client="waits") == 8_000


def test_owners_of_quotas_are_rarely_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    from oncelog.broker.core.limits import buckets

    made: list[int] = []
    largest = vars(buckets)["nlargest"]
    monkeypatch.setattr(buckets, "nlargest", lambda *args, **options: made.append(1) or largest(*args, **options))
    few = Buckets[int](100)
    for number in range(1000):
        few.use(number, 1, 1, 1000, NOW)
    assert len(made) == 18
    assert len(few) <= 100


@pytest.mark.parametrize("hangs_up", [False, True])
def test_a_produce_counts_towards_its_quota_although_its_connection_ends(hangs_up: bool) -> None:
    admin = Admin(work_clock=Ticks())
    admin.broker.topics.create("wide", PARTITIONS, {}, NOW_MS)
    admin.broker.metadata.set_client_quota((("user", "ANONYMOUS"),), "producer_byte_rate", 1e9)
    admin.broker.quotas_changed()
    written = [PartitionProduceData(index, batch(b"x" * 100)) for index in range(PARTITIONS)]
    request = ProduceRequest(None, -1, 30_000, [TopicProduceData("wide", partition_data=written)])
    peer = send(admin, request, 9)
    if hangs_up:
        admin.broker.disconnected(peer)
    admin.broker.tasks.finish()
    assert peer.answers == [] if hangs_up else len(peer.answers) == 1
    assert admin.broker.throttle is not None
    (used,) = [
        bucket.used for owner, bucket in admin.broker.throttle.buckets.items() if owner[0] == "producer_byte_rate"
    ]
    assert used >= 100 * PARTITIONS


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_a_request_in_progress_while_the_clock_is_set_counts_at_the_time_of_its_answer(
    step_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted at its arrival, the request made its client wait for the clock's step too: for an hour."""
    waits: list[int] = []
    monkeypatch.setattr(Peer, "throttle", lambda _, wait_ms: waits.append(wait_ms), raising=False)
    admin = Admin()
    admin.broker.topics.create("one", 1, {}, NOW_MS)
    admin.broker.metadata.set_client_quota((("user", "ANONYMOUS"),), "consumer_byte_rate", 1.0)
    admin.broker.quotas_changed()
    partition = FetchPartition(0, fetch_offset=0, partition_max_bytes=1000)
    request = FetchRequest(max_wait_ms=1000, min_bytes=1, topics=[FetchTopic("one", partitions=[partition])])
    send(admin, request, 4)
    admin.broker.advance(NOW_MS + 1000)
    assert len(waits) == 1
    send(admin, request, 4)
    admin.broker.clock_was_set(step_ms)
    admin.broker.advance(NOW_MS + step_ms + 1000)
    assert 2 * waits[0] <= waits[1] <= 3 * waits[0] + 2000
    admin.broker.stop(NOW_MS)


def work_used(admin: Admin) -> float:
    """Seconds of work times 100 that were counted against a quota."""
    assert admin.broker.throttle is not None
    return sum(bucket.used for owner, bucket in admin.broker.throttle.buckets.items() if owner[0] == REQUEST_PERCENTAGE)


@pytest.mark.parametrize("groups", [1, 500, 20_000])
def test_work_that_a_request_does_in_later_iterations_counts_towards_its_quota(
    groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Almost all of a long request, which is parsed, carried out and answered in chunks, happens in later
    iterations."""
    monkeypatch.setattr(Peer, "throttle", lambda _, wait_ms: None, raising=False)
    ticks = Ticks()
    admin = Admin(work_clock=ticks)
    admin.broker.metadata.set_client_quota((("user", "ANONYMOUS"),), REQUEST_PERCENTAGE, 1.0)
    admin.broker.quotas_changed()
    begun_ns = ticks.now_ns
    peer = send(admin, DescribeGroupsRequest([f"group-{number}" for number in range(groups)], False), 5)
    admin.broker.tasks.finish()
    assert len(peer.answers) == 1
    worked = (ticks.now_ns - begun_ns) / 1e7
    assert worked / 4 < work_used(admin) <= worked, "with each tick a chunk begins or ends, or is asked for the time"


def test_work_before_the_first_request_quota_was_set_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Peer, "throttle", lambda _, wait_ms: None, raising=False)
    admin = Admin(work_clock=lambda: 3600 * 10**9)
    entry = EntryData([EntityData("user", "ANONYMOUS")], [OpData(REQUEST_PERCENTAGE, 1.0, False)])
    assert len(send(admin, AlterClientQuotasRequest([entry], False), 1).answers) == 1
    assert work_used(admin) == 0
