"""confluent-kafka, kafka-python and aiokafka behind one small blocking interface, so that one flow runs on each.

Nothing is repaired or retried here: an error of a client reaches the test as that client raises it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka
import kafka
from aiokafka.errors import ProducerFenced as AioProducerFenced
from kafka.errors import InvalidProducerEpochError, ProducerFencedError
from kafka.structs import OffsetAndMetadata

WAIT_S = 60


class Read(NamedTuple):
    partition: int
    offset: int
    value: bytes


class Sender(ABC):
    """A producer; with a transactional id, ``begin``, ``commit``, ``abort`` and ``send_offsets`` work."""

    @abstractmethod
    def begin(self) -> None: ...
    @abstractmethod
    def send(self, topic: str, value: bytes, partition: int = 0) -> None: ...
    @abstractmethod
    def flush(self) -> None:
        """Returns once everything sent is acknowledged; raises if something is refused."""

    @abstractmethod
    def send_offsets(self, topic: str, offsets: dict[int, int], membership: Any) -> None: ...
    @abstractmethod
    def commit(self) -> None: ...
    @abstractmethod
    def abort(self) -> None: ...
    @abstractmethod
    def close(self) -> None: ...


class Member(ABC):
    """A consumer of one topic in a group that starts at the committed offset or, without one, at the beginning."""

    @abstractmethod
    def poll(self) -> list[Read]:
        """What arrives within a tenth of a second; also drives the client's part in the group."""

    @abstractmethod
    def assigned(self) -> set[int]: ...
    @abstractmethod
    def membership(self) -> Any:
        """What this client hands to ``send_offsets``."""

    @abstractmethod
    def commit(self, offsets: dict[int, int]) -> None: ...
    @abstractmethod
    def committed(self, partition: int) -> int | None: ...
    @abstractmethod
    def close(self) -> None: ...


class Client(ABC):
    """One client library."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    @abstractmethod
    def sender(self, transactional_id: str | None = None) -> Sender:
        """An idempotent producer; a transactional one has fenced older ones of its id when this returns."""

    @abstractmethod
    def member(self, topic: str, group: str, isolation: str = "read_committed") -> Member: ...
    @abstractmethod
    def is_fenced(self, error: Exception) -> bool:
        """Whether the error says that another producer took over the transactional id."""

    def close(self) -> None:  # noqa: B027 - most clients share nothing
        """End what the client shares among its producers and consumers."""


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """The first true value of ``condition``."""
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, f"{what}: not within {WAIT_S} s"
    return value


class ConfluentSender(Sender):
    def __init__(self, servers: str, transactional_id: str | None) -> None:
        settings = {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 0, "batch.num.messages": 20}
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        self._producer = confluent_kafka.Producer(settings)
        self._refused: list[confluent_kafka.KafkaError] = []
        if transactional_id is not None:
            self._producer.init_transactions(WAIT_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes, partition: int = 0) -> None:
        def delivered(error: confluent_kafka.KafkaError | None, _: object) -> None:
            if error is not None:
                self._refused.append(error)

        self._producer.produce(topic, value=value, partition=partition, on_delivery=delivered)

    def flush(self) -> None:
        assert self._producer.flush(WAIT_S) == 0
        if self._refused:
            raise confluent_kafka.KafkaException(self._refused[0])

    def send_offsets(self, topic: str, offsets: dict[int, int], membership: Any) -> None:
        positions = [confluent_kafka.TopicPartition(topic, number, offset) for number, offset in offsets.items()]
        self._producer.send_offsets_to_transaction(positions, membership, WAIT_S)

    def commit(self) -> None:
        self._producer.commit_transaction(WAIT_S)

    def abort(self) -> None:
        self._producer.abort_transaction(WAIT_S)

    def close(self) -> None:
        """Nothing: dropping the last reference ends a producer, and a fenced one's close() would raise what commit()
        raised.
        """


class ConfluentMember(Member):
    def __init__(self, servers: str, topic: str, group: str, isolation: str, protocol: str) -> None:
        settings = {
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": protocol,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
        }
        if protocol == "classic":
            settings["heartbeat.interval.ms"] = 200
        self._topic = topic
        self._consumer = confluent_kafka.Consumer(settings)
        self._consumer.subscribe([topic])

    def poll(self) -> list[Read]:
        messages = self._consumer.consume(500, 0.1)
        for message in messages:
            if message.error() is not None:
                raise confluent_kafka.KafkaException(message.error())
        return [Read(message.partition(), message.offset(), message.value()) for message in messages]

    def assigned(self) -> set[int]:
        return {item.partition for item in self._consumer.assignment()}

    def membership(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def commit(self, offsets: dict[int, int]) -> None:
        positions = [confluent_kafka.TopicPartition(self._topic, number, offset) for number, offset in offsets.items()]
        self._consumer.commit(offsets=positions, asynchronous=False)

    def committed(self, partition: int) -> int | None:
        (found,) = self._consumer.committed([confluent_kafka.TopicPartition(self._topic, partition)], WAIT_S)
        return None if found.offset < 0 else int(found.offset)

    def close(self) -> None:
        self._consumer.close()


class Confluent(Client):
    protocol = "classic"

    def sender(self, transactional_id: str | None = None) -> Sender:
        return ConfluentSender(self.servers, transactional_id)

    def member(self, topic: str, group: str, isolation: str = "read_committed") -> Member:
        return ConfluentMember(self.servers, topic, group, isolation, self.protocol)

    def is_fenced(self, error: Exception) -> bool:
        if not isinstance(error, confluent_kafka.KafkaException):
            return False
        refusal: confluent_kafka.KafkaError = error.args[0]
        return bool(refusal.code() == confluent_kafka.KafkaError._FENCED and refusal.fatal())


class ConfluentConsumerProtocol(Confluent):
    """The same client with KIP-848's groups."""

    protocol = "consumer"


class KafkaPythonSender(Sender):
    def __init__(self, servers: str, transactional_id: str | None) -> None:
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=servers, transactional_id=transactional_id, enable_idempotence=True, batch_size=512
        )
        self._sent: list[Any] = []
        if transactional_id is not None:
            self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes, partition: int = 0) -> None:
        self._sent.append(self._producer.send(topic, value, partition=partition))

    def flush(self) -> None:
        self._producer.flush(WAIT_S)
        sent, self._sent = self._sent, []
        for future in sent:
            future.get(WAIT_S)

    def send_offsets(self, topic: str, offsets: dict[int, int], membership: Any) -> None:
        positions = {
            kafka.TopicPartition(topic, number): OffsetAndMetadata(offset, "", -1) for number, offset in offsets.items()
        }
        self._producer.send_offsets_to_transaction(positions, membership)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(1)


class KafkaPythonMember(Member):
    def __init__(self, servers: str, topic: str, group: str, isolation: str) -> None:
        self._topic = topic
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=servers,
            group_id=group,
            isolation_level=isolation,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
            fetch_max_wait_ms=100,
        )
        # Version 3.0.12 can stay without partitions forever, with Apache Kafka too, where it assigns before it knows
        # the topic's partitions.
        self._consumer.partitions_for_topic(topic)
        self._consumer.subscribe([topic])

    def poll(self) -> list[Read]:
        arrived = self._consumer.poll(timeout_ms=100)
        return [Read(record.partition, record.offset, record.value) for batch in arrived.values() for record in batch]

    def assigned(self) -> set[int]:
        return {item.partition for item in self._consumer.assignment()}

    def membership(self) -> Any:
        return self._consumer.group_metadata()

    def commit(self, offsets: dict[int, int]) -> None:
        self._consumer.commit(
            {kafka.TopicPartition(self._topic, number): OffsetAndMetadata(at, "", -1) for number, at in offsets.items()}
        )

    def committed(self, partition: int) -> int | None:
        found: int | None = self._consumer.committed(kafka.TopicPartition(self._topic, partition))
        return found

    def close(self) -> None:
        self._consumer.close(autocommit=False)


class KafkaPython(Client):
    def sender(self, transactional_id: str | None = None) -> Sender:
        return KafkaPythonSender(self.servers, transactional_id)

    def member(self, topic: str, group: str, isolation: str = "read_committed") -> Member:
        return KafkaPythonMember(self.servers, topic, group, isolation)

    def is_fenced(self, error: Exception) -> bool:
        return isinstance(error, ProducerFencedError | InvalidProducerEpochError)


class Loop:
    """An event loop in a thread; blocking code hands coroutines to it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="aiokafka")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * WAIT_S)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class AioSender(Sender):
    def __init__(self, loop: Loop, servers: str, transactional_id: str | None) -> None:
        self._loop = loop
        self._sent: list[Any] = []

        async def start() -> aiokafka.AIOKafkaProducer:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=servers,
                transactional_id=transactional_id,
                enable_idempotence=True,
                max_batch_size=512,
            )
            await producer.start()
            return producer

        self._producer: aiokafka.AIOKafkaProducer = loop.run(start())

    def begin(self) -> None:
        self._loop.run(self._producer.begin_transaction())

    def send(self, topic: str, value: bytes, partition: int = 0) -> None:
        self._sent.append(self._loop.run(self._producer.send(topic, value, partition=partition)))

    def flush(self) -> None:
        async def all_sent() -> None:
            await asyncio.gather(*self._sent)

        self._loop.run(all_sent())
        self._sent = []

    def send_offsets(self, topic: str, offsets: dict[int, int], membership: Any) -> None:
        positions = {aiokafka.TopicPartition(topic, number): offset for number, offset in offsets.items()}
        self._loop.run(self._producer.send_offsets_to_transaction(positions, membership))

    def commit(self) -> None:
        self._loop.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._loop.run(self._producer.abort_transaction())

    def close(self) -> None:
        self._loop.run(self._producer.stop())


class AioMember(Member):
    def __init__(self, loop: Loop, servers: str, topic: str, group: str, isolation: str) -> None:
        self._loop = loop
        self._topic = topic
        self._group = group

        async def start() -> aiokafka.AIOKafkaConsumer:
            consumer = aiokafka.AIOKafkaConsumer(
                topic,
                bootstrap_servers=servers,
                group_id=group,
                isolation_level=isolation,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                heartbeat_interval_ms=200,
                fetch_max_wait_ms=100,
            )
            await consumer.start()
            return consumer

        self._consumer: aiokafka.AIOKafkaConsumer = loop.run(start())

    def poll(self) -> list[Read]:
        arrived = self._loop.run(self._consumer.getmany(timeout_ms=100))
        return [Read(record.partition, record.offset, record.value) for batch in arrived.values() for record in batch]

    def assigned(self) -> set[int]:
        return {item.partition for item in self._consumer.assignment()}

    def membership(self) -> Any:
        return self._group

    def commit(self, offsets: dict[int, int]) -> None:
        positions = {aiokafka.TopicPartition(self._topic, number): at for number, at in offsets.items()}
        self._loop.run(self._consumer.commit(positions))

    def committed(self, partition: int) -> int | None:
        found: int | None = self._loop.run(self._consumer.committed(aiokafka.TopicPartition(self._topic, partition)))
        return found

    def close(self) -> None:
        self._loop.run(self._consumer.stop())


class AioKafka(Client):
    def __init__(self, servers: str) -> None:
        super().__init__(servers)
        self._loop = Loop()

    def sender(self, transactional_id: str | None = None) -> Sender:
        return AioSender(self._loop, self.servers, transactional_id)

    def member(self, topic: str, group: str, isolation: str = "read_committed") -> Member:
        return AioMember(self._loop, self.servers, topic, group, isolation)

    def is_fenced(self, error: Exception) -> bool:
        return isinstance(error, AioProducerFenced)

    def close(self) -> None:
        self._loop.close()
