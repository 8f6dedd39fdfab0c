"""Reads the topics back with another project's client and compares them with what is expected, record by record.

Called by :mod:`oncelog.apps.demo.run`. The client is librdkafka (``confluent-kafka``), with ``read_committed``. A
second pass with ``read_uncommitted`` counts the records of aborted transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from oncelog.apps.demo.expected import ExpectedTopics
from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time

SILENCE_S = 30.0
SHOWN = 5
"""The number of differences that are described one by one; further ones are only counted."""


class ProofRecord(NamedTuple):
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


def read_topic(bootstrap_servers: str, topic: str, isolation: str = "read_committed") -> Iterator[ProofRecord]:
    """All records of a topic from its beginning to its current end, each partition in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "oncelog-demo-proof",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": 2,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        left = set(partitions)
        last_answer_s = real_time.monotonic()
        while left:
            messages = consumer.consume(10_000, timeout=0.1)
            if messages:
                last_answer_s = real_time.monotonic()
            elif real_time.monotonic() - last_answer_s > SILENCE_S:
                raise OncelogError(f"{bootstrap_servers} sent no record of {topic} for {SILENCE_S:.0f} s")
            for message in messages:
                if _is_end(message):
                    left.discard(message.partition())
                else:
                    partition, offset = message.partition() or 0, message.offset() or 0
                    yield ProofRecord(partition, offset, message.timestamp()[1], message.key(), message.value())
    finally:
        consumer.close()


def _is_end(message: Message) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    raise KafkaException(error)


def end_offsets(bootstrap_servers: str, topic: str) -> dict[int, int]:
    """The log end offset of each partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "oncelog-demo-proof", "log_level": 2})
    try:
        partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        return {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=30)[1]
            for number in sorted(partitions)
        }
    finally:
        consumer.close()


@dataclass(slots=True)
class TopicProof:
    """The content of a topic, and how it differs from what is expected.

    ``offsets`` counts all offsets; ``records`` counts those with data, aborted records included; the others are
    transaction markers.
    """

    topic: str
    expected: int
    offsets: int = 0
    records: int = 0
    delivered: int = 0
    duplicates: int = 0
    lost: int = 0
    wrong: int = 0
    out_of_order: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def aborted(self) -> int:
        return self.records - self.delivered

    @property
    def control(self) -> int:
        return self.offsets - self.records

    @property
    def exact(self) -> bool:
        return not (self.duplicates or self.lost or self.wrong or self.out_of_order)

    def differs(self, text: str) -> None:
        if len(self.differences) < SHOWN:
            self.differences.append(text)


class AbortedRecord(NamedTuple):
    """The position of a record that is in the log, but that no read_committed consumer sees."""

    topic: str
    partition: int
    offset: int


Progress = Callable[[int], None]
"""A callback that receives the number of records read since its last call."""


class Prover:
    """Checks the demo's topics one after another.

    :param prefix: the text before the name of each topic.
    """

    def __init__(self, bootstrap_servers: str, prefix: str, expected: ExpectedTopics, on_progress: Progress) -> None:
        self._servers = bootstrap_servers
        self._prefix = prefix
        self._expected = expected
        self._on_progress = on_progress
        self.windows: list[dict[str, Any]] = []
        self.aborted: AbortedRecord | None = None
        self.written_ms: list[int] = []
        self.windows_written_ms: list[int] = []

    def flights(self) -> TopicProof:
        """Check the topic of the demo's producer: it holds each flight once, and one record that closes the last
        windows."""
        proof = self._begin("flights", len(self._expected.flights))
        flights = self._expected.flights

        def expected(number: Any) -> tuple[Mapping[str, Any], str | None] | None:
            flight = flights.get(number)
            return (flight._asdict(), flight.tailnum) if flight is not None else None

        def check(record: ProofRecord, fields: dict[str, Any]) -> None:
            flight = flights.get(fields.get("id"))  # type: ignore[arg-type]
            if flight is not None and record.timestamp_ms != flight.departure_ms:
                proof.wrong += 1
                proof.differs(f"flight {flight.id} has timestamp {record.timestamp_ms}, not {flight.departure_ms}")

        shown: set[tuple[int, int]] = set()

        def note(record: ProofRecord, fields: dict[str, Any]) -> None:
            shown.add((record.partition, record.offset))
            check(record, fields)

        self._check_flights(proof, expected, note, punctuation=True)
        self.aborted = self._first_aborted(proof.topic, shown)
        return proof

    def _first_aborted(self, topic: str, shown: set[tuple[int, int]]) -> AbortedRecord | None:
        """A record of an aborted transaction, for the report to show."""
        for record in read_topic(self._servers, topic, "read_uncommitted"):
            if (record.partition, record.offset) not in shown and b'"closes"' not in (record.value or b""):
                return AbortedRecord(topic, record.partition, record.offset)
        return None

    def enriched(self) -> TopicProof:
        """Check for one record per flight, with every field right and each plane's flights in order."""
        proof = self._begin("flights-enriched", len(self._expected.flights))
        topics = self._expected

        def expected(number: Any) -> tuple[Mapping[str, Any], str | None] | None:
            flight = topics.flights.get(number)
            return (topics.enriched(flight), flight.tailnum) if flight is not None else None

        def check(record: ProofRecord, fields: dict[str, Any]) -> None:
            self.written_ms.append(record.timestamp_ms)

        self._check_flights(proof, expected, check, punctuation=False)
        return proof

    def _check_flights(
        self,
        proof: TopicProof,
        expected: Callable[[Any], tuple[Mapping[str, Any], str | None] | None],
        check: Callable[[ProofRecord, dict[str, Any]], None],
        *,
        punctuation: bool,
    ) -> None:
        seen: set[int] = set()
        order: dict[str, list[int]] = {}
        for record, fields in self._read(proof):
            number = fields.get("id")
            if punctuation and set(fields) == {"closes"}:
                proof.delivered -= 1
                proof.records -= 1
                proof.offsets -= 1
                continue
            check(record, fields)
            wanted = expected(number)
            if wanted is None:
                proof.wrong += 1
                proof.differs(f"{_where(proof, record)} holds flight {number!r}, which does not exist")
                continue
            if number in seen:
                proof.duplicates += 1
                proof.differs(f"{_where(proof, record)} holds flight {number} again")
                continue
            seen.add(number)  # type: ignore[arg-type]
            value, tail = wanted
            key = None if record.key is None else record.key.decode()
            if fields != value or key != tail:
                proof.wrong += 1
                proof.differs(f"{_where(proof, record)}: key {key}, {_difference(fields, value)}")
            if tail is not None:
                order.setdefault(tail, []).append(number)  # type: ignore[arg-type]
        proof.lost = proof.expected - len(seen)
        for tail, numbers in self._expected.order().items():
            if order.get(tail, []) != numbers and sorted(order.get(tail, [])) == sorted(numbers):
                proof.out_of_order += 1
                proof.differs(f"the flights of {tail} are out of order")

    def delays(self) -> TopicProof:
        """Check for one record per window, with every number right."""
        expected = self._expected.windows
        proof = self._begin("delays-by-hour", len(expected))
        seen: set[str] = set()
        for record, fields in self._read(proof):
            self.windows_written_ms.append(record.timestamp_ms)
            key = (record.key or b"").decode()
            if key in seen:
                proof.duplicates += 1
                proof.differs(f"{_where(proof, record)} holds window {key} again")
                continue
            seen.add(key)
            if key not in expected:
                proof.wrong += 1
                proof.differs(f"{_where(proof, record)} holds window {key!r}, which does not exist")
            elif fields != expected[key]:
                proof.wrong += 1
                proof.differs(f"window {key}: {_difference(fields, expected[key])}")
            else:
                self.windows.append(fields)
        proof.lost = len(expected.keys() - seen)
        return proof

    def _begin(self, name: str, expected: int) -> TopicProof:
        proof = TopicProof(f"{self._prefix}{name}", expected)
        proof.offsets = sum(end_offsets(self._servers, proof.topic).values())
        for number, _ in enumerate(read_topic(self._servers, proof.topic, "read_uncommitted"), start=1):
            proof.records = number
        return proof

    def _read(self, proof: TopicProof) -> Iterator[tuple[ProofRecord, dict[str, Any]]]:
        for record in read_topic(self._servers, proof.topic):
            proof.delivered += 1
            if proof.delivered % 5000 == 0:
                self._on_progress(5000)
            try:
                fields = json.loads(record.value or b"")
            except ValueError:
                fields = None
            if not isinstance(fields, dict):
                proof.wrong += 1
                proof.differs(f"{_where(proof, record)} is not a JSON object: {record.value!r}")
                continue
            yield record, fields


def _where(proof: TopicProof, record: ProofRecord) -> str:
    return f"{proof.topic}-{record.partition} at offset {record.offset}"


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """A sentence about the first field that differs."""
    for name in [*wanted, *found]:
        if name not in found or name not in wanted or found[name] != wanted[name]:
            return f"{name} is {found.get(name)!r}, not {wanted.get(name)!r}"
    return "the fields are right"


def differences(proofs: Sequence[TopicProof]) -> list[str]:
    return [text for proof in proofs for text in proof.differences]
