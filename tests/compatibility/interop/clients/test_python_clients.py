"""confluent-kafka, kafka-python and aiokafka, unmodified, against our broker: each flow on each client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing

import confluent_kafka
import pytest
from kafka.errors import CommitFailedError

from oncelog import Admin, Broker, TopicPartition
from oncelog.client.core.admin.admin_types import NewTopic
from tests.compatibility.interop.clients.python_clients import (
    AioKafka,
    Client,
    Confluent,
    ConfluentConsumerProtocol,
    KafkaPython,
    Member,
    Read,
    wait_for,
)

CLIENTS = {
    "confluent-kafka": Confluent,
    "confluent-kafka-consumer-protocol": ConfluentConsumerProtocol,
    "kafka-python": KafkaPython,
    "aiokafka": AioKafka,
}

OUTCOMES = (b"committed", b"aborted", b"last")

MakeTopic = Callable[[int], str]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    beats = {"group.consumer.min.heartbeat.interval.ms": 200, "group.consumer.heartbeat.interval.ms": 200}
    settings = {"group.initial.rebalance.delay.ms": 0, **beats}
    with Broker(tmp_path_factory.mktemp("data"), settings=settings) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def admin(servers: str) -> Iterator[Admin]:
    with Admin(bootstrap_servers=servers) as admin:
        yield admin


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest, servers: str) -> Iterator[Client]:
    client_of: Callable[[str], Client] = CLIENTS[request.param]
    with closing(client_of(servers)) as client:
        yield client


@pytest.fixture
def make_topic(admin: Admin, unique_name: str) -> MakeTopic:
    """Creates a topic with the given number of partitions; the names begin with the test's unique name."""
    made: list[str] = []

    def make(partitions: int) -> str:
        made.append(f"{unique_name}-{len(made)}")
        admin.create_topics([NewTopic(made[-1], partitions, 1)])
        return made[-1]

    return make


def gather(members: list[Member], count: int) -> list[list[Read]]:
    """What each member reads until together they have read the given number of records, and nothing more in another
    round.
    """
    seen: list[list[Read]] = [[] for _ in members]

    def poll() -> bool:
        for reads, member in zip(seen, members, strict=True):
            reads += member.poll()
        return sum(map(len, seen)) >= count

    wait_for(poll, f"{count} records")
    poll()
    return seen


def read_values(client: Client, topic: str, isolation: str, count: int) -> list[bytes]:
    """The topic's values from its beginning."""
    with closing(client.member(topic, f"{topic}-{isolation}", isolation)) as member:
        (reads,) = gather([member], count)
    return [read.value for read in reads]


def next_offsets(reads: list[Read]) -> dict[int, int]:
    offsets: dict[int, int] = {}
    for read in reads:
        offsets[read.partition] = max(offsets.get(read.partition, 0), read.offset + 1)
    return offsets


def send_all(client: Client, topic: str, values: list[bytes], partitions: int) -> None:
    """Value number ``n`` goes to partition ``n % partitions``."""
    with closing(client.sender()) as sender:
        for number, value in enumerate(values):
            sender.send(topic, value, number % partitions)
        sender.flush()


def test_idempotent_records_arrive_once_and_in_order(client: Client, admin: Admin, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    values = [b"%d" % number for number in range(300)]
    send_all(client, topic, values, 1)
    assert read_values(client, topic, "read_committed", 300) == values
    (producers,) = admin.describe_producers([TopicPartition(topic, 0)]).values()
    assert [(state.producer_epoch, state.last_sequence) for state in producers] == [(0, 299)]


def test_group_shares_partitions_and_survivor_takes_all(client: Client, make_topic: MakeTopic) -> None:
    topic = make_topic(4)
    rounds = [[b"%d-%d" % (round_, number) for number in range(40)] for round_ in range(3)]

    def settle(members: list[Member], sizes: list[int]) -> None:
        def settled() -> bool:
            for member in members:
                assert member.poll() == []
            return [len(member.assigned()) for member in members] == sizes

        wait_for(settled, f"assignment {sizes}")
        assert set().union(*(member.assigned() for member in members)) == {0, 1, 2, 3}

    def read_and_commit(members: list[Member], expected: list[bytes]) -> None:
        seen = gather(members, len(expected))
        for reads, member in zip(seen, members, strict=True):
            assert {read.partition for read in reads} == member.assigned()
            member.commit(next_offsets(reads))
        assert Counter(read.value for reads in seen for read in reads) == Counter(expected)

    first = client.member(topic, topic)
    settle([first], [4])
    send_all(client, topic, rounds[0], 4)
    read_and_commit([first], rounds[0])
    with closing(client.member(topic, topic)) as second:
        settle([first, second], [2, 2])
        send_all(client, topic, rounds[1], 4)
        read_and_commit([first, second], rounds[1])
        first.close()
        settle([second], [4])
        send_all(client, topic, rounds[2], 4)
        read_and_commit([second], rounds[2])
        assert [second.committed(number) for number in range(4)] == [30, 30, 30, 30]


def test_read_committed_consumer_reads_only_committed_transactions(client: Client, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    with closing(client.sender(topic)) as sender:
        for outcome in OUTCOMES:
            sender.begin()
            for number in range(30):
                sender.send(topic, b"%s-%d" % (outcome, number))
            sender.flush()
            if outcome == b"aborted":
                sender.abort()
            else:
                sender.commit()
    committed, aborted, last = ([b"%s-%d" % (outcome, n) for n in range(30)] for outcome in OUTCOMES)
    assert read_values(client, topic, "read_committed", 60) == committed + last
    assert read_values(client, topic, "read_uncommitted", 90) == committed + aborted + last


def test_records_of_an_open_transaction_are_read_only_by_read_uncommitted(
    client: Client, make_topic: MakeTopic
) -> None:
    topic = make_topic(1)
    with closing(client.sender(topic)) as sender, closing(client.member(topic, topic)) as committed:
        sender.begin()
        sender.send(topic, b"open")
        sender.flush()
        assert read_values(client, topic, "read_uncommitted", 1) == [b"open"]
        wait_for(lambda: committed.poll() or committed.assigned(), "assignment")
        assert committed.poll() == []
        sender.commit()
        (reads,) = gather([committed], 1)
    assert [read.value for read in reads] == [b"open"]


def test_consume_transform_produce_commits_offsets_with_its_output(client: Client, make_topic: MakeTopic) -> None:
    source, target = make_topic(2), make_topic(1)
    values = [b"v%d" % number for number in range(20)]
    send_all(client, source, values, 2)
    for outcome in ("abort", "commit"):
        with closing(client.sender(source)) as sender, closing(client.member(source, source)) as member:
            (reads,) = gather([member], 20)
            assert Counter(read.value for read in reads) == Counter(values), "the aborted offsets count"
            sender.begin()
            for read in reads:
                sender.send(target, read.value.upper())
            sender.send_offsets(source, next_offsets(reads), member.membership())
            sender.flush()
            if outcome == "abort":
                sender.abort()
            else:
                sender.commit()
            expected = [10, 10] if outcome == "commit" else [None, None]
            assert [member.committed(number) for number in (0, 1)] == expected
    upper = Counter(value.upper() for value in values)
    assert Counter(read_values(client, target, "read_committed", 20)) == upper
    assert Counter(read_values(client, target, "read_uncommitted", 40)) == upper + upper


def test_zombie_is_fenced_and_its_records_stay_invisible(client: Client, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    zombie = client.sender(topic)
    zombie.begin()
    zombie.send(topic, b"zombie")
    zombie.flush()
    with closing(client.sender(topic)) as fresh:
        with pytest.raises(Exception) as refusal:
            zombie.commit()
        assert client.is_fenced(refusal.value), repr(refusal.value)
        fresh.begin()
        fresh.send(topic, b"fresh")
        fresh.flush()
        fresh.commit()
    zombie.close()
    assert read_values(client, topic, "read_committed", 1) == [b"fresh"]


def is_stale_member(error: Exception) -> bool:
    if isinstance(error, confluent_kafka.KafkaException):
        codes = {confluent_kafka.KafkaError.ILLEGAL_GENERATION, confluent_kafka.KafkaError.UNKNOWN_MEMBER_ID}
        codes |= {confluent_kafka.KafkaError.STALE_MEMBER_EPOCH, confluent_kafka.KafkaError.FENCED_MEMBER_EPOCH}
        return error.args[0].code() in codes and error.args[0].txn_requires_abort()
    return isinstance(error, CommitFailedError)


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "aiokafka"], indirect=True, scope="module")
def test_member_that_left_cannot_commit_offsets_in_a_transaction(client: Client, make_topic: MakeTopic) -> None:
    """Not on aiokafka, which sends only the group's name: there is nothing to fence by."""
    topic = make_topic(1)
    with closing(client.sender(topic)) as sender:
        left = client.member(topic, topic)
        wait_for(lambda: left.poll() or left.assigned(), "assignment")
        membership = left.membership()
        left.close()
        sender.begin()
        sender.send(topic, b"of a member that left")
        sender.flush()

        def commit_offsets() -> None:
            sender.send_offsets(topic, {0: 1}, membership)
            sender.commit()

        with pytest.raises(Exception) as refusal:
            commit_offsets()
        assert is_stale_member(refusal.value), repr(refusal.value)
        sender.abort()
    with closing(client.member(topic, topic)) as member:
        assert member.committed(0) is None
