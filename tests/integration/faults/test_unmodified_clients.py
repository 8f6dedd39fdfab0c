"""Every fault, with two unmodified clients: confluent-kafka and aiokafka."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError as AioError
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Producer as ConfluentProducer

import oncelog
from oncelog.client.blocking import Admin, Consumer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition

T = TypeVar("T")
TIMEOUT_S = 120
SYNCED = {"oncelog.flush.policy": "commit", "group.initial.rebalance.delay.ms": 0}


class Client(Protocol):
    """What the tests do with a client; all calls wait for their result."""

    def __init__(self, servers: str, transactional_id: str | None = None, *, gives_up: bool = False) -> None: ...

    def send(self, value: bytes) -> None:
        """One acknowledged record."""
        ...

    def begin(self) -> None: ...

    def end(self, *, commit: bool) -> None: ...

    def read(self, group: str, count: int, between: Callable[[], object]) -> list[bytes]:
        """Values that a group member reads; ``between`` is called after the first one."""
        ...

    def close(self) -> None: ...


class Confluent:
    def __init__(self, servers: str, transactional_id: str | None = None, *, gives_up: bool = False) -> None:
        self._servers = servers
        settings: dict[str, Any] = {"bootstrap.servers": servers, "enable.idempotence": not gives_up}
        if gives_up:
            settings |= {"message.timeout.ms": 1000, "request.timeout.ms": 500}
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        self._producer = ConfluentProducer(settings)
        if transactional_id is not None:
            self._producer.init_transactions(TIMEOUT_S)

    def send(self, value: bytes) -> None:
        errors: list[KafkaError | None] = []
        self._producer.produce("t", value, on_delivery=lambda error, _: errors.append(error))
        assert self._producer.flush(TIMEOUT_S) == 0
        for error in errors:
            if error is not None:
                raise KafkaException(error)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def end(self, *, commit: bool) -> None:
        (self._producer.commit_transaction if commit else self._producer.abort_transaction)(TIMEOUT_S)

    def read(self, group: str, count: int, between: Callable[[], object]) -> list[bytes]:
        consumer = ConfluentConsumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(["t"])
        found: list[bytes] = []
        deadline = time.monotonic() + TIMEOUT_S
        while len(set(found)) < count and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                found.append(message.value() or b"")
                if len(found) == 1:
                    between()
        consumer.close()
        return found

    def close(self) -> None:
        with suppress(KafkaException):  # what had failed before
            self._producer.flush(0)


class Aiokafka:
    def __init__(self, servers: str, transactional_id: str | None = None, *, gives_up: bool = False) -> None:
        self._servers = servers
        self._loop = asyncio.new_event_loop()
        options: dict[str, Any] = {"request_timeout_ms": 1000} if gives_up else {"enable_idempotence": True}

        async def make() -> AIOKafkaProducer:
            made = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=transactional_id, **options)
            await made.start()
            return made

        self._producer = self._run(make())

    def _run(self, work: Awaitable[T]) -> T:
        return self._loop.run_until_complete(asyncio.wait_for(work, TIMEOUT_S))

    def send(self, value: bytes) -> None:
        self._run(self._producer.send_and_wait("t", value))

    def begin(self) -> None:
        self._run(self._producer.begin_transaction())

    def end(self, *, commit: bool) -> None:
        self._run(self._producer.commit_transaction() if commit else self._producer.abort_transaction())

    def read(self, group: str, count: int, between: Callable[[], object]) -> list[bytes]:
        async def read() -> list[bytes]:
            found: list[bytes] = []
            async with AIOKafkaConsumer(
                "t",
                bootstrap_servers=self._servers,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                heartbeat_interval_ms=500,
            ) as consumer:
                while len(set(found)) < count:
                    found.append((await consumer.getone()).value or b"")
                    if len(found) == 1:
                        await asyncio.to_thread(between)
            return found

        return self._run(read())

    def close(self) -> None:
        with suppress(AioError):  # what had failed before
            self._run(self._producer.stop())
        self._loop.close()


@pytest.fixture(params=[Confluent, Aiokafka], ids=["confluent-kafka", "aiokafka"])
def kind(request: pytest.FixtureRequest) -> type[Client]:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(settings=SYNCED, faults=True) as broker:
        yield broker


def committed(broker: oncelog.Broker) -> list[bytes | None]:
    """Everything that a read_committed consumer receives."""
    servers, where = broker.bootstrap_servers, TopicPartition("t", 0)
    with Consumer(bootstrap_servers=servers, isolation_level="read_committed") as consumer:
        consumer.assign([where])
        consumer.seek_to_beginning(where)
        end = consumer.end_offsets([where])[where]
        values: list[bytes | None] = []
        while consumer.position(where) < end:
            for records in consumer.getmany(timeout_ms=1000).values():
                values += [record.value for record in records]
        return values


def written(client: Client, values: Sequence[bytes]) -> None:
    for value in values:
        client.send(value)


REQUESTS: dict[str, dict[str, object]] = {
    "lose_request": {},
    "lose_answer": {},
    "duplicate": {},
    "reorder": {},
    "answer_error": {"error": "NOT_LEADER_OR_FOLLOWER"},
    "delay": {"ms": 30, "times": 1},
    "throttle": {"ms": 20, "times": 1},
}


@pytest.mark.parametrize("fault", REQUESTS)
def test_an_unmodified_idempotent_producer_survives_a_lost_acknowledgement(
    broker: oncelog.Broker, kind: type[Client], fault: str
) -> None:
    client = kind(broker.bootstrap_servers)
    client.send(b"0")
    with getattr(broker.faults, fault)(api="Produce", **REQUESTS[fault]) as made:
        written(client, [b"1", b"2", b"3"])
    client.close()
    assert made.hits == 1
    assert committed(broker) == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_unmodified_clients_survive_a_cut_connection(broker: oncelog.Broker, kind: type[Client], when: str) -> None:
    client = kind(broker.bootstrap_servers)
    client.send(b"0")
    with broker.faults.cut_connection(when, "Produce") as made:
        client.send(b"1")
    client.close()
    assert made.hits == 1
    assert committed(broker) == [b"0", b"1"]


def test_unmodified_consumers_wait_for_markers_that_a_fault_delays(broker: oncelog.Broker, kind: type[Client]) -> None:
    client = kind(broker.bootstrap_servers, "x")
    with broker.faults.hold_markers(topic="t") as made:
        client.begin()
        client.send(b"a")
        client.end(commit=True)
        made.wait(TIMEOUT_S)
        assert committed(broker) == []
        assert broker.faults.release(made) == 1
    client.begin()  # waits until the transaction before is complete
    client.send(b"b")
    client.end(commit=True)
    client.close()
    with Consumer(
        "t", bootstrap_servers=broker.bootstrap_servers, isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        assert [consumer.getone().value for _ in range(2)] == [b"a", b"b"]


@pytest.mark.parametrize("fault", ["lose_marker", "repeat_marker", "prepare", "first-marker", "markers", "EndTxn"])
def test_unmodified_clients_survive_faults_between_prepare_and_commit(
    broker: oncelog.Broker, kind: type[Client], fault: str
) -> None:
    """The last four cases: the coordinator dies afterwards."""
    client = kind(broker.bootstrap_servers, "x")
    for value, commit in ((b"a", True), (b"b", False), (b"c", True)):
        markers = fault.endswith("_marker")
        make: Any = getattr(broker.faults, fault if markers else "crash_coordinator")
        with make(topic="t", times=1) if markers else make(fault, transactional_id="x") as made:
            client.begin()
            client.send(value)
            client.end(commit=commit)
            made.wait(TIMEOUT_S)
    client.close()
    with Consumer(
        "t", bootstrap_servers=broker.bootstrap_servers, isolation_level="read_committed", auto_offset_reset="earliest"
    ) as consumer:
        assert [consumer.getone().value for _ in range(2)] == [b"a", b"c"]


def test_an_unmodified_producer_is_fenced_by_an_expired_transaction(broker: oncelog.Broker, kind: type[Client]) -> None:
    client = kind(broker.bootstrap_servers, "x")
    client.begin()
    client.send(b"too slow")
    broker.faults.expire_transaction("x")
    with pytest.raises((KafkaException, AioError)):
        client.end(commit=True)
    client.close()
    assert committed(broker) == []


def test_an_unmodified_consumer_rejoins_after_its_session_expired(broker: oncelog.Broker, kind: type[Client]) -> None:
    client = kind(broker.bootstrap_servers)
    client.send(b"a")

    def between() -> None:
        assert len(broker.faults.expire_member("g")) == 1
        other = Confluent(broker.bootstrap_servers)
        other.send(b"b")

    assert set(client.read("g", 2, between)) == {b"a", b"b"}
    client.close()


def test_an_unmodified_producer_continues_after_the_broker_has_forgotten_its_producer_id(
    broker: oncelog.Broker, kind: type[Client]
) -> None:
    client = kind(broker.bootstrap_servers)
    client.send(b"0")
    assert len(broker.faults.forget_producer("t")) == 1
    client.send(b"1")
    client.close()
    assert committed(broker) == [b"0", b"1"]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[oncelog.Broker]:
    """A broker with a data folder."""
    with oncelog.Broker(tmp_path, settings=SYNCED, faults=True) as broker:
        yield broker


@pytest.mark.parametrize("fault", ["full_disk", "failing_sync"])
def test_unmodified_clients_get_errors_of_a_failing_disk(kept: oncelog.Broker, kind: type[Client], fault: str) -> None:
    client = kind(kept.bootstrap_servers, gives_up=True)
    client.send(b"fits")
    with getattr(kept.faults, fault)() as made:
        with pytest.raises((KafkaException, AioError)):
            client.send(b"does not")
        assert made.hits
    client.close()


def test_unmodified_clients_wait_for_a_slow_disk(kept: oncelog.Broker, kind: type[Client]) -> None:
    client = kind(kept.bootstrap_servers)
    client.send(b"0")
    with kept.faults.slow_disk(5, times=1) as made:
        client.send(b"1")
    client.close()
    assert made.hits == 1


def test_unmodified_clients_survive_a_power_loss(kept: oncelog.Broker, kind: type[Client]) -> None:
    client = kind(kept.bootstrap_servers)
    client.send(b"0")
    kept.faults.power_loss()
    client.send(b"1")
    client.close()
    assert committed(kept) == [b"0", b"1"]


@pytest.mark.parametrize("fault", ["kill_node", "move_leader"])
def test_unmodified_clients_follow_a_moved_leader(kind: type[Client], fault: str) -> None:
    with oncelog.Broker(nodes=3, settings=SYNCED) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("t", num_partitions=1, replication_factor=3)])
        client = kind(broker.bootstrap_servers)
        client.send(b"0")
        leader = broker.leader("t", 0)
        if fault == "kill_node":
            broker.faults.kill_node(leader)
        else:
            broker.faults.move_leader("t", 0, to=leader % 3 + 1)
        client.send(b"1")
        client.close()
        assert broker.leader("t", 0) != leader
        assert committed(broker) == [b"0", b"1"]
