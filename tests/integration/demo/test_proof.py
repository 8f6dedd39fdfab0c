"""The proof finds every kind of difference that is put into the topics on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from oncelog.apps.demo.expected import ExpectedTopics
from oncelog.apps.demo.flights import Flight
from oncelog.apps.demo.proof import Prover, TopicProof


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


class Row(NamedTuple):
    key: str | None
    value: dict[str, Any]


Tamper = Callable[[list[Row]], None]


@pytest.fixture(scope="module")
def some(flights: list[Flight]) -> ExpectedTopics:
    return ExpectedTopics(flights[:3000])


def write(broker: RunningBroker, topic: str, rows: list[Row]) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 2, 1, config={"retention.ms": "-1"})])[topic].result(120)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 50})
    for row in rows:
        producer.produce(topic, json.dumps(row.value), row.key)
    assert producer.flush(60) == 0


def enriched(expected: ExpectedTopics) -> list[Row]:
    return [Row(flight.tailnum, expected.enriched(flight)) for flight in expected.flights.values()]


def prove(broker: RunningBroker, prefix: str, expected: ExpectedTopics, tamper: Tamper) -> TopicProof:
    rows = enriched(expected)
    tamper(rows)
    write(broker, f"{prefix}flights-enriched", rows)
    return Prover(broker.bootstrap_servers, prefix, expected, lambda more: None).enriched()


def nothing(rows: list[Row]) -> None:
    """Restore the correct state."""


def duplicate(rows: list[Row]) -> None:
    rows.append(rows[17])


def lose(rows: list[Row]) -> None:
    del rows[17]


def change_a_field(rows: list[Row]) -> None:
    rows[17] = Row(rows[17].key, rows[17].value | {"airline": "Another"})


def change_the_weather(rows: list[Row]) -> None:
    rows[17] = Row(rows[17].key, rows[17].value | {"weather": None})


def change_a_key(rows: list[Row]) -> None:
    keys = [row.key for row in rows]
    number = next(number for number, key in enumerate(keys) if key is not None and keys.count(key) == 1)
    rows[number] = Row("N00000", rows[number].value)


def add_a_stranger(rows: list[Row]) -> None:
    rows.append(Row(None, rows[17].value | {"id": 999_999}))


def swap_two_of_a_plane(rows: list[Row]) -> None:
    key = next(row.key for row in rows if row.key and sum(other.key == row.key for other in rows) > 1)
    first, second = [number for number, row in enumerate(rows) if row.key == key][:2]
    rows[first], rows[second] = rows[second], rows[first]


@pytest.mark.parametrize(
    ("tamper", "counts"),
    [
        (nothing, {}),
        (duplicate, {"duplicates": 1}),
        (lose, {"lost": 1}),
        (change_a_field, {"wrong": 1}),
        (change_the_weather, {"wrong": 1}),
        (change_a_key, {"wrong": 1}),
        (add_a_stranger, {"wrong": 1}),
        (swap_two_of_a_plane, {"out_of_order": 1}),
    ],
)
def test_the_check_of_the_written_flights_finds_each_fault(
    oncelog_broker: RunningBroker, unique_name: str, some: ExpectedTopics, tamper: Tamper, counts: dict[str, int]
) -> None:
    proof = prove(oncelog_broker, unique_name, some, tamper)
    found = {name: getattr(proof, name) for name in ("duplicates", "lost", "wrong", "out_of_order")}
    assert {name: number for name, number in found.items() if number} == counts
    assert proof.exact is not bool(counts)
    assert bool(proof.differences) is bool(set(counts) - {"lost"})


@pytest.mark.parametrize("kind", ["right", "twice", "missing", "wrong number", "none such"])
def test_the_check_of_the_written_windows_finds_each_fault(
    oncelog_broker: RunningBroker, unique_name: str, some: ExpectedTopics, kind: str
) -> None:
    rows = [Row(key, value) for key, value in some.windows.items()]
    match kind:
        case "twice":
            rows.append(rows[3])
        case "missing":
            del rows[3]
        case "wrong number":
            rows[3] = Row(rows[3].key, rows[3].value | {"delay_minutes": 10_000})
        case "none such":
            rows.append(Row("JFK/XX/2013-01-01T10:00:00Z", rows[3].value))
    write(oncelog_broker, f"{unique_name}delays-by-hour", rows)
    proof = Prover(oncelog_broker.bootstrap_servers, unique_name, some, lambda more: None).delays()
    counts = {"right": (0, 0, 0), "twice": (1, 0, 0), "missing": (0, 1, 0)}.get(kind, (0, 0, 1))
    assert (proof.duplicates, proof.lost, proof.wrong) == counts


def test_records_of_aborted_transactions_are_counted_and_not_delivered(
    oncelog_broker: RunningBroker, unique_name: str, some: ExpectedTopics
) -> None:
    topic = f"{unique_name}flights-enriched"
    write(oncelog_broker, topic, enriched(some))
    producer = Producer({"bootstrap.servers": oncelog_broker.bootstrap_servers, "transactional.id": unique_name})
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(10):
        producer.produce(topic, b"never", partition=number % 2)
    assert producer.flush(120) == 0
    producer.abort_transaction()
    proof = Prover(oncelog_broker.bootstrap_servers, unique_name, some, lambda more: None).enriched()
    assert (proof.exact, proof.aborted, proof.control, proof.delivered) == (True, 10, 2, len(some.flights))
