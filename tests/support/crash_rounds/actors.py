"""The clients of the crash rounds: each writes in a thread of its own and remembers what it was told.

An actor works in units (a flushed burst, a transaction) and knows each unit's outcome; if a client gave up for good in
the middle of a commit, the outcome is ``UNKNOWN``, and the proof only demands all or nothing. Actors live through kills
of the broker: their libraries repeat what was not answered.
"""

from __future__ import annotations

import logging
import random
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from confluent_kafka import KafkaException, Message
from confluent_kafka import Producer as Librdkafka

from oncelog.client.blocking import Consumer, Producer
from oncelog.client.core.client_errors import FatalProducerError, KafkaTimeoutError
from oncelog.client.core.structs import ConsumerGroupMetadata, ConsumerRecord, RecordMetadata, TopicPartition
from oncelog.client.delivery import Delivery
from oncelog.errors import KafkaError, OncelogError

PLAIN, TRANSACTED, COPY = "plain", "transacted", "copy"
PARTITIONS = 3
CALL_S = 10.0
"""A call of a client that is not answered within this time is repeated."""
TRANSACTION_MS = 120_000
OWN_SETTINGS: dict[str, Any] = {"reconnect_backoff_max_ms": 100, "retry_backoff_max_ms": 100}


_SILENT = logging.getLogger("tests.support.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


P = TypeVar("P", Librdkafka, Producer)


class Violation(OncelogError):
    """A promise of the broker was broken."""


class Ended(OncelogError):
    """The actor was told to end in the middle of a step."""


class Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Unit(NamedTuple):
    """Values by (topic, partition), in the order in which they were sent."""

    outcome: Outcome
    values: dict[tuple[str, int], list[bytes]]


def client_settings(bootstrap_servers: str) -> dict[str, Any]:
    """Settings of librdkafka: quick to find the broker again, silent while it is gone."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 100,
        "retry.backoff.ms": 20,
        "retry.backoff.max.ms": 100,
        "log_level": 0,
        "logger": _SILENT,
        "error_cb": lambda error: None,
    }


class Actor:
    """Repeats ``step`` until told to pause; a pause begins when none of it is in flight."""

    def __init__(self, name: str, seed: str) -> None:
        self.name = name
        self.rng = random.Random(seed)
        self.units: list[Unit] = []
        self.counts: Counter[str] = Counter()
        self.idle = threading.Event()
        self._pause = threading.Event()
        self._go = threading.Event()
        self._ended = threading.Event()
        self._sent: Counter[tuple[str, int]] = Counter()

    def run(self) -> None:
        """The thread's whole life."""
        try:
            while not self._ended.is_set():
                if self._pause.is_set() and self.is_drained():
                    self.idle.set()
                    self._go.wait()
                    self._go.clear()
                else:
                    self.step()
        except Ended:
            return
        finally:
            self.close()

    def pause(self) -> None:
        """Finish what is in flight; ``idle`` tells when."""
        self._pause.set()

    def resume(self) -> None:
        self.idle.clear()
        self._pause.clear()
        self._go.set()

    def end(self) -> None:
        self._ended.set()
        self.resume()

    def check_ended(self) -> None:
        if self._ended.is_set():
            raise Ended(self.name)

    def step(self) -> None:
        raise NotImplementedError

    def is_drained(self) -> bool:
        return True

    def close(self) -> None:
        raise NotImplementedError

    def new_values(self, topic: str, most: int) -> dict[tuple[str, int], list[bytes]]:
        """Numbered values for random partitions, of random size."""
        made: dict[tuple[str, int], list[bytes]] = {}
        for _ in range(self.rng.randrange(1, most)):
            place = (topic, self.rng.randrange(PARTITIONS))
            number = self._sent[place]
            self._sent[place] += 1
            filler = b"%x" % self.rng.getrandbits(4 * self.rng.choice([8, 100, 100, 3000]))
            made.setdefault(place, []).append(b"%s %d %s" % (self.name.encode(), number, filler))
        return made


class LibrdkafkaActor(Actor):
    """Idempotent bursts."""

    def __init__(self, name: str, seed: str, bootstrap_servers: str) -> None:
        super().__init__(name, seed)
        settings = client_settings(bootstrap_servers) | {"enable.idempotence": True, "linger.ms": 2}
        self._producer = Librdkafka(settings)
        self._lost: list[str] = []

    def step(self) -> None:
        values = self.new_values(PLAIN, 200)
        for (topic, partition), sent in values.items():
            for value in sent:
                self._producer.produce(topic, value, partition=partition, on_delivery=self._delivered)
        while self._producer.flush(1):
            self.check_ended()
        if self._lost:
            raise Violation(f"{self.name}: records were refused: {self._lost[:3]}")
        self.units.append(Unit(Outcome.COMMITTED, values))
        self.counts["records"] += sum(map(len, values.values()))

    def _delivered(self, error: Any, message: Message) -> None:
        if error is not None:
            self._lost.append(str(error))

    def close(self) -> None:
        self._producer.purge()


class OncelogActor(Actor):
    """Idempotent bursts of this project's client."""

    def __init__(self, name: str, seed: str, bootstrap_servers: str) -> None:
        super().__init__(name, seed)
        self._producer = Producer(bootstrap_servers=bootstrap_servers, **OWN_SETTINGS)

    def step(self) -> None:
        values = self.new_values(PLAIN, 100)
        sent = [
            self._producer.send(topic, value, partition=partition)
            for (topic, partition), part in values.items()
            for value in part
        ]
        for delivery in sent:
            self._await(delivery)
        self.units.append(Unit(Outcome.COMMITTED, values))
        self.counts["records"] += len(sent)

    def _await(self, delivery: Delivery[RecordMetadata]) -> None:
        while not delivery.done():
            self.check_ended()
            try:
                delivery.result(1)
            except KafkaTimeoutError:
                continue
        delivery.result()

    def close(self) -> None:
        self._producer.stop()


class Transactor(ABC, Generic[P]):
    """A transactional producer that is replaced when it has failed for good."""

    failures: tuple[type[Exception], ...]

    def __init__(self, bootstrap_servers: str, actor: Actor) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._actor = actor
        self._counts = actor.counts
        self.producer: P = self.replace()

    @abstractmethod
    def make(self) -> P: ...

    @abstractmethod
    def initialize(self) -> None:
        """Take the transactional id over."""

    @abstractmethod
    def judge(self, error: Exception) -> Outcome | None:
        """What an error of a call means; None means to repeat the call."""

    def replace(self) -> P:
        """A new producer of the same id; fences the old one and ends its transaction."""
        while True:
            self.producer = self.make()
            if self.do(self.initialize) is Outcome.COMMITTED:
                return self.producer
            self._counts["producers that failed at their start"] += 1

    def do(self, call: Callable[..., object], *arguments: object) -> Outcome:
        """Repeat ``call`` while that is what its error asks for.

        COMMITTED: done. ABORTED: the transaction must be aborted. UNKNOWN: the producer failed for good.
        """
        while True:
            self._actor.check_ended()
            try:
                call(*arguments)
                return Outcome.COMMITTED
            except self.failures as error:
                outcome = self.judge(error)
                if outcome is not None:
                    return outcome

    def begin(self) -> None:
        if self.do(self.producer.begin_transaction) is not Outcome.COMMITTED:
            self.replace()
            self.producer.begin_transaction()

    def abort(self) -> None:
        if self.do(self.producer.abort_transaction) is not Outcome.COMMITTED:
            self.replace()

    def commit(self) -> Outcome:
        """How the transaction ended."""
        outcome = self.do(self.producer.commit_transaction)
        if outcome is Outcome.ABORTED:
            self.abort()
        elif outcome is Outcome.UNKNOWN:
            self.replace()
        return outcome


class LibrdkafkaTransactor(Transactor[Librdkafka]):
    failures = (KafkaException,)

    def make(self) -> Librdkafka:
        return Librdkafka(
            client_settings(self._bootstrap_servers)
            | {"transactional.id": self._actor.name, "transaction.timeout.ms": TRANSACTION_MS, "linger.ms": 1}
        )

    def initialize(self) -> None:
        self.producer.init_transactions(CALL_S)

    def judge(self, error: Exception) -> Outcome | None:
        found = error.args[0]
        if found.fatal():
            self._counts[f"fatal: {found.name()}"] += 1
            return Outcome.UNKNOWN
        if found.txn_requires_abort():
            self._counts[f"to be aborted: {found.name()}"] += 1
            return Outcome.ABORTED
        if not found.retriable():
            raise error
        return None


class OncelogTransactor(Transactor[Producer]):
    failures = (KafkaError,)

    def make(self) -> Producer:
        return Producer(
            bootstrap_servers=self._bootstrap_servers,
            transactional_id=self._actor.name,
            transaction_timeout_ms=TRANSACTION_MS,
            **OWN_SETTINGS,
        )

    def initialize(self) -> None:
        self.producer.start()

    def judge(self, error: Exception) -> Outcome | None:
        if isinstance(error, KafkaTimeoutError):
            return None
        self._counts[type(error).__name__] += 1
        return Outcome.UNKNOWN if isinstance(error, FatalProducerError) else Outcome.ABORTED


class TransactionActor(Actor):
    """Transactions over the partitions of one topic: committed, aborted, or taken over by a successor."""

    def __init__(self, name: str, seed: str, bootstrap_servers: str) -> None:
        super().__init__(name, seed)
        self._transactor = LibrdkafkaTransactor(bootstrap_servers, self)

    def step(self) -> None:
        transactor = self._transactor
        values = self.new_values(TRANSACTED, 40)
        transactor.begin()
        for (topic, partition), sent in values.items():
            for value in sent:
                transactor.producer.produce(topic, value, partition=partition)
        outcome = self._end_transaction(self.rng.random())
        self.units.append(Unit(outcome, values))
        self.counts[outcome.value] += 1

    def _end_transaction(self, draw: float) -> Outcome:
        transactor = self._transactor
        if draw < 0.65:
            return transactor.commit()
        if draw < 0.95:
            if draw < 0.8:
                transactor.producer.flush(CALL_S)
            transactor.abort()
            return Outcome.ABORTED
        zombie = transactor.producer
        zombie.flush(CALL_S)
        transactor.replace()
        self.counts["zombies"] += 1
        if transactor.do(zombie.commit_transaction) is Outcome.COMMITTED:
            raise Violation(f"{self.name}: a producer that was fenced could commit")
        return Outcome.ABORTED

    def close(self) -> None:
        self._transactor.producer.purge()


class CopyActor(Actor):
    """Consume, produce and commit the offsets in one transaction: from ``PLAIN`` to ``COPY``, partition by partition.

    With this project's client: librdkafka 2.16's ``send_offsets_to_transaction`` may never return when the coordinator
    goes away under it.
    """

    def __init__(self, name: str, seed: str, bootstrap_servers: str) -> None:
        super().__init__(name, seed)
        self._transactor = OncelogTransactor(bootstrap_servers, self)
        self._consumer = Consumer(
            PLAIN,
            bootstrap_servers=bootstrap_servers,
            group_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **OWN_SETTINGS,
        )
        self._consumer.start()

    def step(self) -> None:
        # Taken before the records: were they of a later generation, the commit would be refused.
        member = self._consumer.group_metadata()
        found = self._consumer.getmany(timeout_ms=50, max_records=200)
        if found and not self._copy(found, member):
            self._rewind()

    def _copy(self, found: dict[TopicPartition, list[ConsumerRecord]], member: ConsumerGroupMetadata) -> bool:
        """Whether the records were copied and their offsets committed."""
        transactor = self._transactor
        transactor.begin()
        for place, records in found.items():
            for record in records:
                transactor.producer.send(COPY, record.value, partition=place.partition)
        if self.rng.random() < 0.1:
            self.counts["aborted"] += 1
            transactor.abort()
            return False
        offsets = {place: records[-1].offset + 1 for place, records in found.items()}
        sent = transactor.do(transactor.producer.send_offsets_to_transaction, offsets, member)
        if sent is Outcome.ABORTED:
            transactor.abort()
            return False
        if sent is Outcome.UNKNOWN:
            transactor.replace()
            return False
        outcome = transactor.commit()
        self.counts[outcome.value] += 1
        return outcome is Outcome.COMMITTED

    def _rewind(self) -> None:
        """Back to the committed position; a rebalance meanwhile does that by itself."""
        while True:
            self.check_ended()
            try:
                for place, offset in self._consumer.seek_to_committed().items():
                    if offset is None:
                        self._consumer.seek(place, 0)
                return
            except KafkaError as error:
                self.counts[f"rewound again: {type(error).__name__}"] += 1

    def is_drained(self) -> bool:
        """Whether everything in the source was copied: the committed offsets are its ends."""
        partitions = [TopicPartition(PLAIN, index) for index in range(PARTITIONS)]
        try:
            ends = self._consumer.end_offsets(partitions)
            return all((self._consumer.committed(place) or 0) == ends[place] for place in partitions)
        except KafkaError:
            return False

    def close(self) -> None:
        self._transactor.producer.stop()
        self._consumer.stop()
