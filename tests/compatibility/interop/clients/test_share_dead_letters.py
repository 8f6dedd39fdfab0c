"""Dead letters of share groups (KIP-1191), on both brokers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from oncelog.apps.conformance.expect import eventually
from oncelog.errors import NONE, Error
from tests.conftest import RunningBroker
from tests.support.both_brokers import KAFKA_IN_SOAK
from tests.support.share_groups import TIMEOUT_S
from tests.support.share_members import ACCEPT, GAP, REJECT, RELEASE, ShareMember, ShareTopic

pytestmark = [pytest.mark.kafka, KAFKA_IN_SOAK]
_numbers = itertools.count()
TOPIC_NAME, COPY = "errors.deadletterqueue.topic.name", "errors.deadletterqueue.copy.record.enable"
ENABLED = {"errors.deadletterqueue.group.enable": "true"}
REJECTED, EXCEEDED = "Offset rejected by client.", "Offset delivery count exceeded the threshold."


class Queue:
    """A topic with a share group, and the topic of the group's dead letters."""

    def __init__(self, broker: RunningBroker, name: str, settings: Mapping[str, str]) -> None:
        self.servers, self.name = broker.bootstrap_servers, f"dlq.{name}"
        self._admin = AdminClient({"bootstrap.servers": self.servers})
        self.topic = ShareTopic(self.servers, name, delivery_count_limit="2")
        self.set(ConfigResource.Type.GROUP, name, {TOPIC_NAME: self.name, **settings})

    def create(self, partitions: int = 1, **settings: str) -> None:
        config = {**ENABLED, **{name.replace("_", "."): value for name, value in settings.items()}}
        self._admin.create_topics([NewTopic(self.name, partitions, 1, config=config)])[self.name].result(TIMEOUT_S)

    def set(self, kind: object, name: str, settings: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()
        ]
        resource = ConfigResource(kind, name, incremental_configs=entries)
        self._admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)

    def exists(self) -> bool:
        return self.name in self._admin.list_topics(timeout=TIMEOUT_S).topics

    def letters(self, count: int, topic: str | None = None) -> list[Message]:
        """So many records of the topic, from its beginning."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "none", "enable.partition.eof": False})
        name = topic or self.name
        indexes = consumer.list_topics(name, TIMEOUT_S).topics[name].partitions
        consumer.assign([TopicPartition(name, index, OFFSET_BEGINNING) for index in indexes])
        found: list[Message] = []
        while len(found) < count:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None and message.error() is None
            found.append(message)
        consumer.close()
        return found

    def produced(self, *records: tuple[bytes | None, bytes | None], codec: str = "none") -> ShareMember:
        """A member that has acquired these records, keys and values, for the first time."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 100, "compression.type": codec})
        for key, value in records:
            producer.produce(self.topic.name, value, key, headers={"own": b"header"})
        assert producer.flush(TIMEOUT_S) == 0
        member = ShareMember(self.topic, "m")
        assert member.acquired() == [(0, len(records) - 1, 1)]
        return member


NewQueue = Callable[..., Queue]


@pytest.fixture
def new_queue(broker: RunningBroker, unique_name: str) -> NewQueue:
    def made(settings: Mapping[str, str] | None = None) -> Queue:
        return Queue(broker, f"{unique_name}-{next(_numbers)}", settings or {})

    return made


def headers(queue: Queue, offset: int, deliveries: int, message: str) -> list[tuple[str, bytes]]:
    values = {"topic": queue.topic.name, "partition": 0, "offset": offset, "group": queue.topic.name}
    values |= {"delivery.count": deliveries, "message": message}
    return [(f"__dlq.errors.{name}", str(value).encode()) for name, value in values.items()]


def test_dead_letters_say_where_records_came_from_and_why_they_were_given_up(new_queue: NewQueue) -> None:
    queue = new_queue()
    queue.create()
    member = queue.produced(*[(b"key", b"value")] * 6)
    assert member.say((0, 5, [REJECT, ACCEPT, GAP, RELEASE, RELEASE, RELEASE])) is NONE
    assert member.acquired() == [(3, 5, 2)]
    assert member.say((3, 5, [RELEASE, REJECT, ACCEPT])) is NONE
    assert member.acquired() == []
    letters = queue.letters(3)
    assert [(letter.key(), letter.value()) for letter in letters] == [(None, None)] * 3
    expected = [headers(queue, 0, 1, REJECTED), headers(queue, 3, 2, EXCEEDED), headers(queue, 4, 2, REJECTED)]
    assert sorted(map(str, [letter.headers() for letter in letters])) == sorted(map(str, expected))


def test_a_record_at_its_delivery_limit_is_given_up_when_the_session_ends(new_queue: NewQueue) -> None:
    queue = new_queue()
    queue.create()
    member = queue.produced((None, b"value"))
    assert member.say((0, 0, [RELEASE])) is NONE
    assert member.acquired() == [(0, 0, 2)]
    member.disconnect()
    (letter,) = queue.letters(1)
    assert letter.headers() == headers(queue, 0, 2, EXCEEDED)


def test_a_group_may_copy_keys_and_values_but_not_headers(new_queue: NewQueue) -> None:
    queue = new_queue({COPY: "true"})
    queue.create(partitions=3)
    records = [(b"a", b"1"), (None, b"2"), (b"c", None), (b"", b"")]
    assert queue.produced(*records, codec="gzip").say((0, 3, [REJECT])) is NONE
    letters = queue.letters(4)
    assert [(letter.key(), letter.value()) for letter in letters] == records
    assert [letter.headers() for letter in letters] == [headers(queue, each, 1, REJECTED) for each in range(4)]
    assert {letter.partition() for letter in letters} == {0}, "the partition of the record, modulo the number"


def test_rejected_records_between_others_have_their_own_dead_letters(new_queue: NewQueue) -> None:
    queue = new_queue({COPY: "true"})
    queue.create()
    values = [b"%d" % number for number in range(10)]
    member = queue.produced(*((None, value) for value in values))
    assert member.say(*((offset, offset, [REJECT]) for offset in range(0, 10, 2))) is NONE
    assert sorted(letter.value() or b"" for letter in queue.letters(5)) == values[::2]
    assert member.say((1, 9, [ACCEPT, GAP] * 4 + [ACCEPT])) is Error.INVALID_RECORD_STATE, "the others are given up"


def test_records_too_large_for_the_dead_letter_topic_are_not_copied(new_queue: NewQueue) -> None:
    queue = new_queue({COPY: "true"})
    queue.create(max_message_bytes="1000")
    values = [b"x" * size for size in (150, 150, 150, 150, 150, 3000, 150)]
    assert queue.produced(*((None, value) for value in values)).say((0, 6, [REJECT])) is NONE
    assert [letter.value() for letter in queue.letters(7)] == [*values[:5], None, values[6]]


@pytest.mark.parametrize("why", ["no topic", "not enabled", "other name", "keys wanted"])
def test_a_record_is_given_up_even_if_its_dead_letter_cannot_be_written(new_queue: NewQueue, why: str) -> None:
    queue = new_queue()
    if why == "other name":
        queue.set(ConfigResource.Type.GROUP, queue.topic.name, {TOPIC_NAME: queue.topic.name})
        queue.set(ConfigResource.Type.TOPIC, queue.topic.name, ENABLED)
    elif why != "no topic":
        queue.create(cleanup_policy="compact" if why == "keys wanted" else "delete")
    if why == "not enabled":
        queue.set(ConfigResource.Type.TOPIC, queue.name, {"errors.deadletterqueue.group.enable": "false"})
    member = queue.produced((None, b"0"), (None, b"1"))
    assert member.say((0, 0, [REJECT]), (1, 1, [RELEASE])) is NONE
    eventually(lambda: member.say((0, 0, [ACCEPT])) is NONE)  # it is done
    assert member.acquired() == [(1, 1, 2)]
    if why == "no topic":
        assert not queue.exists()
    else:
        queue.topic.produce(1)
        assert member.acquired() == [(2, 2, 1)], "no letter follows in the topic itself"


def test_a_group_may_read_its_own_dead_letters(new_queue: NewQueue, unique_name: str) -> None:
    queue = new_queue()
    own = queue.topic = ShareTopic(queue.servers, f"dlq.own-{unique_name}")
    queue.set(ConfigResource.Type.GROUP, own.name, {TOPIC_NAME: own.name})
    queue.set(ConfigResource.Type.TOPIC, own.name, ENABLED)
    member = queue.produced((None, b"0"))
    assert member.say((0, 0, [REJECT])) is NONE
    eventually(lambda: member.acquired() == [(1, 1, 1)])


def test_no_dead_letter_is_written_to_an_internal_topic(new_queue: NewQueue) -> None:
    queue = new_queue()
    with pytest.raises(KafkaException) as refused:
        queue.set(ConfigResource.Type.GROUP, queue.topic.name, {TOPIC_NAME: "__consumer_offsets"})
    assert refused.value.args[0].code() == Error.INVALID_CONFIG
    assert refused.value.args[0].str() == f"{TOPIC_NAME}: DLQ topic name must not start with '__'"
