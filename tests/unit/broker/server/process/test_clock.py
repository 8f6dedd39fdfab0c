"""Timeouts last as long as intended, whatever happens to the wall clock, from its first moment on.

Time passes at once (``pass_time``): half of a timeout, then a little more than the other half.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server.nodes import Nodes
from oncelog.broker.server.process import clock
from oncelog.broker.server.process.clock import COMPARED_EVERY_NS, MIN_STEP_NS, WallClock
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.runtime import real_time
from oncelog.types import TopicPartition
from tests.support.frames import encode_request

HOUR_MS = 3_600_000
TIMEOUT_S = 600
T = TopicPartition("t", 0)


class Clocks:
    """Both clocks of this process; the wall clock can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clock, "COMPARED_EVERY_NS", 0)  # that the clock was set is noticed at once
        self._real, self._ahead_ns = real_time.time_ns, 0
        monkeypatch.setattr(real_time, "time_ns", lambda: self._real() + self._ahead_ns)

    def set_on(self, step_ms: int) -> None:
        self._ahead_ns += step_ms * 1_000_000


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


@pytest.fixture(params=[HOUR_MS, -HOUR_MS], ids=["on", "back"])
def step_ms(request: pytest.FixtureRequest) -> int:
    step: int = request.param
    return step


@pytest.fixture
def broker(clocks: Clocks) -> Iterator[oncelog.Broker]:
    """Started before the clock is set."""
    settings = {
        "group.max.session.timeout.ms": 2 * HOUR_MS,
        "transaction.max.timeout.ms": 2 * HOUR_MS,
        "max.connection.creation.rate": 1000,
    }
    with oncelog.Broker(settings=settings) as running:
        yield running


@pytest.fixture
def client(broker: oncelog.Broker) -> Iterator[RawConnection]:
    with RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("t")
        yield connection


def ready(client: RawConnection, key: str, kind: int) -> None:
    client.ask_until(FindCoordinatorRequest(key, kind), 2, lambda answer: answer.error_code == 0)


# --- the clock


def test_setting_the_clock_is_detected_once_and_a_drifting_clock_never(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, monotonic = 1_700_000_000 * 10**9, 5 * 10**9
    monkeypatch.setattr(real_time, "time_ns", lambda: wall)
    monkeypatch.setattr(real_time, "monotonic_ns", lambda: monotonic)
    clock, steps = WallClock(), list[int]()
    clock.was_set.append(steps.append)
    for seconds in range(1, 100):
        wall += 10**9 + 10_000 * seconds
        monotonic += 10**9
        assert clock.now_ms() == wall // 10**6
    assert steps == []
    set_at = wall // 10**6
    wall -= HOUR_MS * 10**6
    assert clock.now_ms() == set_at  # not compared yet
    monotonic += COMPARED_EVERY_NS
    assert clock.now_ms() == clock.now_ms() == wall // 10**6
    wall += HOUR_MS * 10**6
    monotonic += COMPARED_EVERY_NS
    assert clock.now_ms() == wall // 10**6
    assert [round(step / 1000) for step in steps] == [-3600, 3600]


def test_a_delay_between_reading_both_clocks_is_not_a_clock_step(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 5 * 10**9
    waits = [0]

    def read() -> int:
        nonlocal now
        now += waits.pop() if waits else 0
        return now

    monkeypatch.setattr(real_time, "time_ns", read)
    monkeypatch.setattr(real_time, "monotonic_ns", read)
    clock, steps = WallClock(), list[int]()
    clock.was_set.append(steps.append)
    waits += [0, 0, 0, 3 * MIN_STEP_NS, 2 * MIN_STEP_NS, 2 * MIN_STEP_NS, COMPARED_EVERY_NS]
    assert clock.now_ms() == now // 10**6
    assert steps == []


def test_a_request_is_handled_at_its_own_time_not_at_that_of_an_event_before_it(
    broker: oncelog.Broker, client: RawConnection
) -> None:
    """The clock was read for a timer, and then nothing happened until the request came."""
    request = encode_request(ApiVersionsRequest.API_KEY, 0, 1, "c", ApiVersionsRequest().encode(0))

    def behind_ms(nodes: Nodes) -> int:
        server = nodes.server
        server.now_ms()
        server.ahead_ms += 5_000
        server.read_buffer[: len(request)] = request
        next(iter(server.connected())).buffer_updated(len(request))
        return server.now_ms() - server.broker.now_ms

    with RawConnection(broker.bootstrap_servers):  # with one connection, an iteration ends with each request
        eventually(lambda: broker.on_loop(lambda nodes: len(list(nodes.server.connected()))) == 2)
        assert broker.on_loop(behind_ms) < 1_000


# --- what begins in the moment after it was set


def test_a_fetch_keeps_its_deadline_when_the_clock_is_set(
    broker: oncelog.Broker, client: RawConnection, clocks: Clocks, step_ms: int
) -> None:
    clocks.set_on(step_ms)
    sent = client.send_fetch({("t", 0): RawFetchPosition(0)}, max_wait_ms=TIMEOUT_S * 1000)
    eventually(lambda: broker.on_loop(lambda nodes: len(nodes.server.broker.fetches)))
    broker.pass_time(TIMEOUT_S / 2)
    assert broker.on_loop(lambda nodes: len(nodes.server.broker.fetches))
    broker.pass_time(TIMEOUT_S / 2)
    assert client.receive_fetch(sent).partitions["t", 0].batches == []


def test_a_transaction_keeps_its_timeout_when_the_clock_is_set(
    broker: oncelog.Broker, client: RawConnection, clocks: Clocks, step_ms: int
) -> None:
    def state() -> str:
        answer = client.ask(DescribeTransactionsRequest(["txn"]), 0)
        found: str = answer.transaction_states[0].transaction_state
        return found

    ready(client, "txn", 1)
    made = client.ask(InitProducerIdRequest("txn", TIMEOUT_S * 1000), 4)
    clocks.set_on(step_ms)
    begin = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="txn",
        v3_and_below_producer_id=made.producer_id,
        v3_and_below_producer_epoch=made.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic("t", [0])],
    )
    answer = client.ask(begin, 3)
    assert answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
    broker.pass_time(TIMEOUT_S / 2)
    assert state() == "Ongoing"
    broker.pass_time(TIMEOUT_S / 2 + 30)
    eventually(lambda: state() == "CompleteAbort")


def test_a_member_keeps_its_session_when_the_clock_is_set(
    broker: oncelog.Broker, client: RawConnection, clocks: Clocks, step_ms: int
) -> None:
    def members() -> int:
        return len(client.ask(DescribeGroupsRequest(["g"]), 4).groups[0].members)

    ready(client, "g", 0)
    clocks.set_on(step_ms)
    joined = client.ask(
        JoinGroupRequest(
            "g", TIMEOUT_S * 1000, 2 * TIMEOUT_S * 1000, "", None, "consumer", [JoinGroupRequestProtocol("range", b"")]
        ),
        3,
    )
    assert joined.error_code == 0
    broker.pass_time(TIMEOUT_S / 2)
    assert members() == 1
    broker.pass_time(TIMEOUT_S / 2)
    assert members() == 0


def test_a_throttled_client_keeps_its_wait_when_the_clock_is_set(
    broker: oncelog.Broker, client: RawConnection, clocks: Clocks, step_ms: int
) -> None:
    def waits(nodes: Any) -> int:
        wait: int = nodes.server.broker.throttle.use(
            "producer_byte_rate", "User:ANONYMOUS", "c", 1000 * TIMEOUT_S, nodes.server.now_ms()
        )
        return wait

    entry = EntryData([EntityData("user", "ANONYMOUS")], [OpData("producer_byte_rate", 1000.0)])
    assert client.ask(AlterClientQuotasRequest([entry]), 1).entries[0].error_code == 0
    before = broker.on_loop(waits)
    assert before > 0
    clocks.set_on(step_ms)
    assert 0 < broker.on_loop(waits) <= before + 1000 * TIMEOUT_S


def test_a_throttled_connection_keeps_its_wait_when_the_clock_is_set(
    broker: oncelog.Broker, clocks: Clocks, step_ms: int
) -> None:
    def waits(nodes: Any) -> int:
        wait: int = nodes.server._limits[None].wait_ms("127.0.0.1", "PLAINTEXT", nodes.server.now_ms())
        return wait

    def use_up(nodes: Any) -> int:
        return max(waits(nodes) for _ in range(10_000))

    before = broker.on_loop(use_up)
    clocks.set_on(step_ms)
    assert 0 < broker.on_loop(waits) <= before + 1


def test_the_next_sync_keeps_its_time_when_the_clock_is_set(tmp_path: Path, clocks: Clocks, step_ms: int) -> None:
    """What is appended after the clock was set is synced when the interval is over, and no later."""

    def is_dirty(nodes: Any) -> bool:
        log = nodes.server.broker.partition(T).log
        found: bool = log.flushed_offset < log.log_end_offset
        return found

    settings = {"oncelog.flush.policy": "interval", "log.flush.interval.ms": TIMEOUT_S * 1000}
    with (
        oncelog.Broker(tmp_path, settings=settings) as broker,
        RawConnection(broker.bootstrap_servers) as client,
    ):
        client.create_topic("t")
        clocks.set_on(step_ms)
        assert client.produce("t", batch(b"x")).error == 0
        broker.pass_time(TIMEOUT_S / 2)
        assert broker.on_loop(is_dirty)
        broker.pass_time(TIMEOUT_S / 2)
        eventually(lambda: not broker.on_loop(is_dirty))


def test_setting_the_clock_while_a_broker_starts_moves_the_deadlines_of_its_timers(
    tmp_path: Path, clocks: Clocks, step_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from oncelog.broker.core.broker import Broker

    recover = Broker.recover

    def recovers(self: Broker, now_ms: int) -> None:
        recover(self, now_ms)
        self.timers.schedule(now_ms + TIMEOUT_S * 1000, lambda _: due.append(True))
        clocks.set_on(step_ms)

    due: list[bool] = []
    monkeypatch.setattr(Broker, "recover", recovers)
    with oncelog.Broker(tmp_path) as broker:
        broker.pass_time(TIMEOUT_S / 2)
        assert not due
        broker.pass_time(TIMEOUT_S / 2)
        assert due
