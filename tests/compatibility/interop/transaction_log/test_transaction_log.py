"""Our transaction coordinator beside a real Apache Kafka: the same requests, the same answers, the same log records.

Each script of requests runs on a node, Apache Kafka's or ours, and on the bare coordinator on a host in memory. Answers
are compared at once; afterwards the records of ``__transaction_state`` for that transactional id are read from the
node's own segment and compared field by field, tags included. Producer ids are compared by the order in which they
appear, times by whether they are set.
"""

from __future__ import annotations

import itertools
import socket
import struct
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oncelog import Broker
from oncelog.broker.coordinator.transaction import records
from oncelog.broker.coordinator.transaction.states import LAST_CLIENT_EPOCH, Txn
from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import handler_for
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Session
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import decode_response_header
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.describe_transactions_request import DescribeTransactionsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.messages import request_type, response_type
from oncelog.protocol.wire import Message
from oncelog.records.batch import decode_records, iter_headers
from oncelog.runtime.deferred import Deferred
from oncelog.settings.config import BrokerConfig, parse
from oncelog.types import CONSUMER_OFFSETS_TOPIC, NO_PRODUCER, ProducerIdAndEpoch, TopicPartition, java_hash_partition
from tests.support.apache_kafka import ApacheKafka
from tests.support.frames import encode_request
from tests.support.shared_kafka import RunningKafka
from tests.support.transaction_host import MemoryTransactionHost

TOPIC = "transaction-log"
TIMEOUT_MS = 60_000
START_MS = 1_700_000_000_000
"""When our side begins."""
PARTITIONS_AT = 2 + 8 + 2 + 4 + 1
"""Fields that in version 1 of a value hold the number of topics plus one, or 0 for null."""


class Answer(NamedTuple):
    error: Error
    producer: ProducerIdAndEpoch = NO_PRODUCER


class Side(ABC):
    """A coordinator that is asked through requests, ours or Kafka's; each call waits until what it began is
    complete.
    """

    @abstractmethod
    def ask(self, key: ApiKey, version: int, request: Message) -> Any: ...

    @abstractmethod
    def log(self, transactional_id: str) -> list[tuple[bytes, bytes | None]]:
        """The records of the id in ``__transaction_state``, oldest first."""

    @abstractmethod
    def pass_time(self, milliseconds: int) -> None: ...

    def state(self, transactional_id: str) -> str:
        request = DescribeTransactionsRequest([transactional_id])
        described = self.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, request).transaction_states[0]
        error = Error(described.error_code)
        return str(described.transaction_state) if error is Error.NONE else error.name

    def settle(self, transactional_id: str) -> None:
        """Wait until no transaction of the id is being completed."""
        for _ in range(500):
            if not self.state(transactional_id).startswith("Prepare"):
                return
            time.sleep(0.01)
        raise AssertionError(f"{transactional_id} is not completed")

    def init(
        self, transactional_id: str, expected: ProducerIdAndEpoch, version: int, timeout_ms: int = TIMEOUT_MS
    ) -> Answer:
        producer = expected if version >= 3 else NO_PRODUCER
        request = InitProducerIdRequest(transactional_id, timeout_ms, *producer)
        response = self.ask(ApiKey.INIT_PRODUCER_ID, version, request)
        while response.error_code == Error.COORDINATOR_LOAD_IN_PROGRESS:  # no producer ids from the controller yet
            time.sleep(0.05)
            response = self.ask(ApiKey.INIT_PRODUCER_ID, version, request)
        self.settle(transactional_id)
        return _answer(response)

    def add(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[int],
        version: int,
        verify: bool = False,
    ) -> list[Error]:
        topics = [AddPartitionsToTxnTopic(TOPIC, list(partitions))]
        if version < 4:
            request = AddPartitionsToTxnRequest([], transactional_id, *producer, topics)
            results = self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, request).results_by_topic_v3_and_below
        else:
            transaction = AddPartitionsToTxnTransaction(transactional_id, *producer, verify, topics)
            request = AddPartitionsToTxnRequest([transaction])
            results = self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, version, request).results_by_transaction[0].topic_results
        by_partition = sorted((r.partition_index, r.partition_error_code) for r in results[0].results_by_partition)
        return [Error(code) for _, code in by_partition]

    def offsets(self, transactional_id: str, producer: ProducerIdAndEpoch, version: int) -> Answer:
        request = AddOffsetsToTxnRequest(transactional_id, *producer, "group")
        return Answer(Error(self.ask(ApiKey.ADD_OFFSETS_TO_TXN, version, request).error_code))

    def end(self, transactional_id: str, producer: ProducerIdAndEpoch, commit: bool, version: int) -> Answer:
        response = self.ask(ApiKey.END_TXN, version, EndTxnRequest(transactional_id, *producer, commit))
        self.settle(transactional_id)
        self.pass_time(2)  # the next transaction starts at another millisecond
        return _answer(response)

    def init_many(self, transactional_id: str, count: int) -> Answer:
        """Sends ``init`` without a producer id and epoch ``count`` times; the last answer."""
        for _ in range(count - 1):
            self.init(transactional_id, NO_PRODUCER, 5)
        return self.init(transactional_id, NO_PRODUCER, 5)


def _answer(response: Any) -> Answer:
    error = Error(response.error_code)
    return Answer(error, ProducerIdAndEpoch(response.producer_id, response.producer_epoch))


class Node(Side):
    """Apache Kafka, or our broker, over one connection."""

    def __init__(self, bootstrap_servers: str, data_folder: Path) -> None:
        host, port = bootstrap_servers.split(":")
        self._socket = socket.create_connection((host, int(port)), timeout=120)
        self._ids = itertools.count(1)
        self._data = data_folder

    def close(self) -> None:
        self._socket.close()

    def pass_time(self, milliseconds: int) -> None:
        time.sleep(milliseconds / 1000)

    def send(self, key: ApiKey, version: int, request: Message) -> None:
        self._socket.sendall(encode_request(key, version, next(self._ids), "interop", request.encode(version)))

    def receive(self, key: ApiKey, version: int) -> Any:
        frame = self._read(struct.unpack(">i", self._read(4))[0])
        _, body = decode_response_header(frame, key, version)
        return response_type(key).decode(frame, version, body)

    def ask(self, key: ApiKey, version: int, request: Message) -> Any:
        self.send(key, version, request)
        return self.receive(key, version)

    def init_many(self, transactional_id: str, count: int) -> Answer:
        """Many requests in flight at once: a node answers the requests of a connection one after the other."""
        answer = self.init(transactional_id, NO_PRODUCER, 5)
        request = InitProducerIdRequest(transactional_id, TIMEOUT_MS)
        left = count - 1
        while left:
            flight = min(left, 256)
            for _ in range(flight):
                self.send(ApiKey.INIT_PRODUCER_ID, 5, request)
            for _ in range(flight):
                answer = _answer(self.receive(ApiKey.INIT_PRODUCER_ID, 5))
                assert answer.error is Error.NONE
            left -= flight
        return answer

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                raise ConnectionError("the node closed the connection")
            data += chunk
        return data

    def create_topic(self, name: str, partitions: int) -> None:
        """A topic whose partitions have leaders when this returns."""
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        self.ask(ApiKey.CREATE_TOPICS, 5, CreateTopicsRequest(topics=[topic]))

    def coordinate(self) -> None:
        """Wait until both internal topics exist and every part of them is coordinated."""
        for key_type, name in ((0, "group"), (1, "id")):
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[name])
            while self.ask(ApiKey.FIND_COORDINATOR, 4, request).coordinators[0].error_code != Error.NONE:
                time.sleep(0.05)
        waiting = [f"id-{number}" for number in range(500)]
        while waiting := [one for one in waiting if self.state(one) != Error.TRANSACTIONAL_ID_NOT_FOUND.name]:
            time.sleep(0.05)

    def log(self, transactional_id: str) -> list[tuple[bytes, bytes | None]]:
        partition = java_hash_partition(transactional_id, 50)
        found = []
        for segment in sorted((self._data / f"__transaction_state-{partition}").glob("*.log")):
            data = segment.read_bytes()
            for position, _ in iter_headers(data):
                for record in decode_records(data, position):
                    if record.key is not None and records.decode_key(bytes(record.key)) == transactional_id:
                        found.append((bytes(record.key), None if record.value is None else bytes(record.value)))
        return found


class OurSide(Side):
    """The request handlers and the coordinator, on a host in memory; every request passes through the codec."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        config = parse(BrokerConfig, settings or {})
        self.host = MemoryTransactionHost({TOPIC: 3, CONSUMER_OFFSETS_TOPIC: 50})
        topics = {name: SimpleNamespace(partitions=count) for name, count in self.host.topics.items()}
        group_partition = TopicPartition(CONSUMER_OFFSETS_TOPIC, java_hash_partition("group", 50))
        tasks = Tasks()
        self._broker: Any = SimpleNamespace(
            authorizer=None,
            transactions=self.host.coordinator(config, now_ms=START_MS),
            metadata=SimpleNamespace(topic=topics.get),
            tasks=tasks,
            answer_memory=AnswerMemory(RequestMemory(-1, 0)),
            groups=SimpleNamespace(runtime=SimpleNamespace(partition_for=lambda group: group_partition)),
        )
        self._now = START_MS

    def pass_time(self, milliseconds: int) -> None:
        self._now += milliseconds
        self.host.timers.fire(self._now)

    def ask(self, key: ApiKey, version: int, request: Message) -> Any:
        self._now += 1
        self._broker.now_ms = self._now
        channel: Any = SimpleNamespace(connection_id=0, session=Session())
        context = RequestContext(channel, 0, key, version, 0, "interop", self._now)
        received = request_type(key).decode(request.encode(version), version)
        response = handler_for(key)(self._broker, context, received)
        self._broker.tasks.finish()
        if isinstance(response, Deferred):
            response = response.value
        self._broker.answer_memory.end(channel)
        return response_type(key).decode(response.encode(version), version)

    def log(self, transactional_id: str) -> list[tuple[bytes, bytes | None]]:
        return [(r.key, r.value) for _, r in self.host.log if records.decode_key(r.key) == transactional_id]


# --- scripts


class Step(NamedTuple):
    """One request; ``who`` is the answer whose producer id and epoch is shown (None: no producer id and epoch), with
    ``shift`` added to its epoch."""

    kind: str
    who: int | None = None
    shift: int = 0
    partitions: tuple[int, ...] = ()
    commit: bool = True
    version: int = 5


def init(who: int | None = None, shift: int = 0, version: int = 5) -> Step:
    return Step("init", who, shift, version=version)


def add(who: int | None, *partitions: int, version: int = 3, shift: int = 0) -> Step:
    return Step("add", who, shift, partitions, version=version)


def offsets(who: int, version: int = 4, shift: int = 0) -> Step:
    return Step("offsets", who, shift, version=version)


def verify(who: int | None, *partitions: int, shift: int = 0) -> Step:
    return Step("verify", who, shift, partitions)


def commit(who: int | None, version: int = 4, shift: int = 0) -> Step:
    return Step("end", who, shift, commit=True, version=version)


def abort(who: int, version: int = 4, shift: int = 0) -> Step:
    return Step("end", who, shift, commit=False, version=version)


def run(
    side: Side, transactional_id: str, script: Sequence[Step], first: Sequence[Answer | list[Error]] = ()
) -> list[Answer | list[Error]]:
    """Every answer, including those that ``first`` holds."""
    answers: list[Answer | list[Error]] = list(first)
    producers: list[ProducerIdAndEpoch] = [answer.producer for answer in first if isinstance(answer, Answer)]
    for step in script:
        producer = NO_PRODUCER if step.who is None else producers[step.who]
        if producer != NO_PRODUCER:
            producer = ProducerIdAndEpoch(producer.producer_id, producer.producer_epoch + step.shift)
        answer: Answer | list[Error]
        match step.kind:
            case "init":
                answer = side.init(transactional_id, producer, step.version)
            case "add":
                answer = side.add(transactional_id, producer, step.partitions, step.version)
            case "offsets":
                answer = side.offsets(transactional_id, producer, step.version)
            case "verify":
                answer = side.add(transactional_id, producer, step.partitions, step.version, verify=True)
            case _:
                answer = side.end(transactional_id, producer, step.commit, step.version)
        answers.append(answer)
        producers.append(answer.producer if isinstance(answer, Answer) else NO_PRODUCER)
    return answers


class Comparable(NamedTuple):
    """A record with producer ids by their order of appearance, and times reduced to what is the same everywhere."""

    version: int
    txn: Txn
    updated: bool
    start_kept: bool
    """The start is that of the record before."""
    null_partitions: bool


def comparable(log: Sequence[tuple[bytes, bytes | None]], numbers: dict[int, int]) -> list[Comparable | None]:
    def number(producer_id: int) -> int:
        return producer_id if producer_id == -1 else numbers.setdefault(producer_id, len(numbers))

    result: list[Comparable | None] = []
    start_ms = -1
    for key, value in log:
        if value is None:
            result.append(None)
            continue
        txn = records.decode_value("id", value)
        assert records.encode_key(records.decode_key(key) or "") == key
        kept, start_ms = txn.start_ms == start_ms, txn.start_ms
        result.append(
            Comparable(
                struct.unpack_from(">h", value)[0],
                Txn(
                    "id",
                    number(txn.producer_id),
                    txn.producer_epoch,
                    txn.timeout_ms,
                    txn.state,
                    txn.partitions,
                    -1 if txn.start_ms == -1 else 0,
                    0,
                    number(txn.previous_producer_id),
                    number(txn.next_producer_id),
                    client_transaction_version=txn.client_transaction_version,
                ),
                txn.last_update_ms > 0,
                kept,
                value[PARTITIONS_AT] == 0,
            )
        )
    return result


def normalized(answers: Sequence[Answer | list[Error]], numbers: dict[int, int]) -> list[object]:
    def producer(answer: Answer) -> tuple[int, int]:
        producer_id, epoch = answer.producer
        return (producer_id if producer_id == -1 else numbers.setdefault(producer_id, len(numbers))), epoch

    return [(one.error.name, producer(one)) if isinstance(one, Answer) else [e.name for e in one] for one in answers]


@contextmanager
def connected(bootstrap_servers: str, data_folder: Path) -> Iterator[Node]:
    """A connection to a node that coordinates and has the tests' topic."""
    side = Node(bootstrap_servers, data_folder)
    side.create_topic(TOPIC, 3)
    side.coordinate()
    yield side
    side.close()


@contextmanager
def our_node(folder: Path, settings: dict[str, str]) -> Iterator[Node]:
    with (
        Broker(folder, settings={"oncelog.flush.policy": "none", **settings}) as broker,
        connected(broker.bootstrap_servers, folder) as side,
    ):
        yield side


NODES = ["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)]
on_each_node = pytest.mark.parametrize("node", NODES, indirect=True)


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    if request.param == "kafka":
        kafka: RunningKafka = request.getfixturevalue("apache_kafka")
        with connected(kafka.bootstrap_servers, kafka.data_folder) as side:
            yield side
    else:
        with our_node(tmp_path_factory.mktemp("node"), {}) as side:
            yield side


def compare(node: Side, script: Sequence[Step], use_up_epochs: bool = False) -> None:
    """Run the script on both sides, each time with a new id; on request its producer already has the last epoch."""
    transactional_id = f"t-{uuid.uuid4().hex[:12]}"
    ours = OurSide()
    first: list[list[Answer | list[Error]]] = [[], []]
    if use_up_epochs:
        first = [[side.init_many(transactional_id, LAST_CLIENT_EPOCH + 1)] for side in (node, ours)]
    skipped = len(ours.log(transactional_id))
    node_numbers: dict[int, int] = {}
    our_numbers: dict[int, int] = {}
    expected = run(node, transactional_id, script, first[0])
    got = run(ours, transactional_id, script, first[1])
    assert normalized(got, our_numbers) == normalized(expected, node_numbers)
    expected_log = comparable(node.log(transactional_id)[skipped:], node_numbers)
    assert comparable(ours.log(transactional_id)[skipped:], our_numbers) == expected_log


SCRIPTS: dict[str, list[Step]] = {
    "old client: two transactions": [
        *(init(), add(0, 0), add(0, 0), add(0, 1, 2), commit(0), commit(0), abort(0)),
        *(add(0, 1), abort(0), abort(0), commit(0)),
    ],
    "old client: end without a transaction": [init(), commit(0), abort(0)],
    "init twice": [init(), init(), add(0, 0), commit(0), commit(0, 3), abort(1, 4)],
    "init again with the producer id and epoch, and the retry of that": [
        init(),
        init(0),
        init(0),
        init(0, -1),
        init(2),
    ],
    "init with a producer id of another": [init(), init(0), Step("init", 1, 7)],
    "init during a transaction": [init(), add(0, 0), init(), init(), commit(0), commit(3), add(3, 1), commit(3)],
    "init during a transaction with its producer id and epoch": [
        init(),
        add(0, 0, version=4),
        init(0),
        init(0),
        abort(3, 5),
    ],
    "new client: commit, abort, and their retries": [
        *(init(), add(0, 0, version=5), commit(0, 5), commit(0, 5), abort(0, 5), commit(2, 5)),
        *(add(0, 0, version=5), add(2, 1, version=5), abort(2, 5), abort(2, 5), commit(2, 5), abort(8, 5)),
    ],
    "new client: empty aborts": [init(), commit(0, 5), abort(0, 5), abort(0, 5), abort(2, 5), commit(4, 5), init(4)],
    "new client: stranger and zombie": [init(), add(0, 0, version=5), commit(0, 5, -1), commit(0, 5, 1), commit(0, 5)],
    "verification": [
        *(init(), verify(0, 0), add(0, 0), verify(0, 0, 1), verify(0, 0, shift=1), commit(0), verify(0, 0)),
    ],
    "unknown id": [add(None, 0), add(None, 0, version=1), commit(None), commit(None, 5), verify(None, 1)],
    "errors of old versions": [
        *(init(), init(0), add(0, 0, version=1), add(0, 0, version=2), offsets(0, 1), offsets(0, 2)),
        *(commit(0, 1), commit(0, 2), init(0, 0, 3), init(0, 0, 4), init(0, 3, 3), init(0, 3, 4)),
    ],
    "offsets of a group": [init(), offsets(0, 0), commit(0, 0), offsets(0), add(0, 0), abort(0, 3)],
    "unknown partition": [init(), add(0, 0, 7), add(0, 7, version=4), verify(0, 0, 7), commit(0)],
    "a producer id without an epoch": [init(), init(0, -1)],
    "versions mixed": [init(), add(0, 0, version=5), commit(0, 4), add(0, 0), commit(0, 5), commit(4, 4), abort(4, 5)],
}


@on_each_node
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_of_requests_gets_the_answers_and_records_of_kafka(node: Node, name: str) -> None:
    compare(node, SCRIPTS[name])


LAST_EPOCH_SCRIPTS: dict[str, list[Step]] = {
    "init with its producer id and epoch, and the retry of that": [init(0), init(0), init(0, -1), init(1)],
    "init during a transaction": [add(0, 0), init(), init(), commit(0, 5), abort(0, 5), commit(3, 5)],
    "old client": [add(0, 0), commit(0), commit(0), add(0, 1), abort(0), init()],
    "new client": [
        *(add(0, 0, version=5), commit(0, 5), commit(0, 5), abort(0, 5), add(0, 0, version=5), add(2, 1, version=5)),
        *(commit(0, 5), commit(2, 5), init(2), init(9)),
    ],
}


def _last_epoch_case(name: str) -> Any:
    """Using up an id's epochs takes 32,767 requests, so `make test` runs one script, on ours."""
    return pytest.param("kafka", name, marks=[pytest.mark.kafka, pytest.mark.soak])


@pytest.mark.parametrize(
    ("node", "name"), [("oncelog", "new client"), *map(_last_epoch_case, LAST_EPOCH_SCRIPTS)], indirect=["node"]
)
def test_a_script_at_the_last_epoch_gets_the_answers_and_records_of_kafka(node: Node, name: str) -> None:
    compare(node, LAST_EPOCH_SCRIPTS[name], use_up_epochs=True)


KINDS = ["init", "init given", "add", "add", "add", "offsets", "end", "end", "end", "verify"]


@st.composite
def scripts(draw: st.DrawFn) -> list[Step]:
    """Requests of one or several producers under one id, mostly with producer ids and epochs that were right at some
    time."""
    script = [init()]
    for index in range(1, draw(st.integers(3, 14))):
        who = draw(st.integers(max(0, index - 4), index - 1) | st.integers(0, index - 1))
        shift = draw(st.sampled_from([0, 0, 0, 0, 0, -1, 1]))
        partitions = tuple(sorted(draw(st.sets(st.integers(0, 2), min_size=1))))
        kind = draw(
            st.sampled_from(["init", "init given", "add", "add", "add", "end", "end", "end", "verify", "offsets"])
        )
        if kind == "init":
            script.append(init(version=draw(st.integers(0, 5))))
        elif kind == "init given":
            script.append(init(who, shift, draw(st.integers(3, 5))))
        elif kind == "add":
            script.append(add(who, *partitions, version=draw(st.integers(0, 5)), shift=shift))
        elif kind == "offsets":
            script.append(offsets(who, draw(st.integers(0, 4)), shift))
        elif kind == "end":
            version = draw(st.integers(0, 4) | st.just(5))
            script.append(Step("end", who, shift, commit=draw(st.booleans()), version=version))
        else:
            script.append(verify(who, *partitions, shift=shift))
    return script


@on_each_node
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(script=scripts())
def test_random_scripts_of_requests_get_the_answers_and_records_of_kafka(node: Node, script: list[Step]) -> None:
    compare(node, script)


SWEEPING = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "50",
    "transactional.id.expiration.ms": "2000",
}


@pytest.fixture(scope="module")
def sweeping_node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node that looks for timeouts and idle ids all the time."""
    folder = tmp_path_factory.mktemp("sweeping")
    if request.param == "kafka":
        with ApacheKafka(folder, SWEEPING) as kafka, connected(kafka.bootstrap_servers, kafka.data_folder) as side:
            yield side
    else:
        with our_node(folder, SWEEPING) as side:
            yield side


on_each_sweeping_node = pytest.mark.parametrize("sweeping_node", NODES, indirect=True)


def until(side: Side, transactional_id: str, state: str) -> None:
    for _ in range(1_000):
        if side.state(transactional_id) == state:
            return
        side.pass_time(20)
    raise AssertionError(f"{transactional_id} does not become {state}")


AFTER_TIMEOUT: dict[str, list[Step]] = {
    "old client": [commit(0), abort(0), add(0, 1), init(0), add(4, 1), init()],
    "new client": [commit(0, 5), abort(0, 5), abort(0, 5), add(0, 1, version=5), init(0), init(0), init()],
}


@on_each_sweeping_node
@pytest.mark.parametrize("name", AFTER_TIMEOUT)
def test_a_producer_whose_transaction_timed_out_gets_the_answers_and_records_of_kafka(
    sweeping_node: Node, name: str
) -> None:
    transactional_id = f"t-{uuid.uuid4().hex[:12]}"
    ours = OurSide(SWEEPING)
    results: list[object] = []
    for side in (sweeping_node, ours):
        numbers: dict[int, int] = {}
        first = side.init(transactional_id, NO_PRODUCER, 5, timeout_ms=100)
        side.add(transactional_id, first.producer, [0, 2], 5 if name == "new client" else 3)
        until(side, transactional_id, "CompleteAbort")
        answers = run(side, transactional_id, AFTER_TIMEOUT[name], [first])
        results.append((normalized(answers, numbers), comparable(side.log(transactional_id), numbers)))
    assert results[1] == results[0]


@on_each_sweeping_node
def test_an_expired_transactional_id_gets_the_answers_and_records_of_kafka(sweeping_node: Node) -> None:
    transactional_id = f"t-{uuid.uuid4().hex[:12]}"
    ours = OurSide(SWEEPING)
    results: list[object] = []
    for side in (sweeping_node, ours):
        numbers: dict[int, int] = {}
        first = side.init(transactional_id, NO_PRODUCER, 5)
        until(side, transactional_id, Error.TRANSACTIONAL_ID_NOT_FOUND.name)
        answers = run(side, transactional_id, [add(0, 0), commit(0), commit(0, 5), init(0)], [first])
        results.append((normalized(answers, numbers), comparable(side.log(transactional_id), numbers)))
    assert results[1] == results[0]


LISTS = [
    (0, ListTransactionsRequest()),
    (0, ListTransactionsRequest(state_filters=["Ongoing", "Lost"])),
    (0, ListTransactionsRequest(state_filters=["Lost"])),
    (1, ListTransactionsRequest(duration_filter=0)),
    (1, ListTransactionsRequest(duration_filter=10**7)),
    (2, ListTransactionsRequest(transactional_id_pattern="")),
    (2, ListTransactionsRequest(transactional_id_pattern="list")),
    (2, ListTransactionsRequest(transactional_id_pattern="list-.*")),
    (2, ListTransactionsRequest(transactional_id_pattern="(")),
]


@on_each_node
def test_transactions_are_listed_and_described_as_by_kafka(node: Node) -> None:
    ours = OurSide()
    results = []
    for side in (node, ours):
        side.init("list-idle", NO_PRODUCER, 5)
        side.add("list-open", side.init("list-open", NO_PRODUCER, 5).producer, [2, 0], 3)
        side.pass_time(5)
        lists = [side.ask(ApiKey.LIST_TRANSACTIONS, version, request) for version, request in LISTS]
        described = side.ask(
            ApiKey.DESCRIBE_TRANSACTIONS, 0, DescribeTransactionsRequest(["list-open", "list-idle", "", "no"])
        ).transaction_states
        listed = [(one.error_code, one.unknown_state_filters, sorted(_listed(one.transaction_states))) for one in lists]
        results.append((listed, [_described(one) for one in described]))
    assert results[1] == results[0]


def _listed(states: Sequence[Any]) -> list[tuple[str, str]]:
    """The records of this test's ids; the node also has those of other tests."""
    return [(s.transactional_id, s.transaction_state) for s in states if s.transactional_id.startswith("list-")]


def _described(state: Any) -> tuple[object, ...]:
    topics = [(topic.topic, sorted(topic.partitions)) for topic in state.topics]
    start = min(state.transaction_start_time_ms, 1)
    return (
        state.error_code,
        state.transactional_id,
        state.transaction_state,
        state.transaction_timeout_ms,
        start,
        topics,
    )
