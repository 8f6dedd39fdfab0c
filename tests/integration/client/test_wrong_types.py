"""Every public method of every client refuses every argument of a wrong type at once, in one sentence.

The methods and their arguments are read from the classes; a new kind of argument needs a row in ``WRONG``.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import oncelog
from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.aiokafka.admin import AIOKafkaAdminClient, NewPartitions
from oncelog.client import aio, blocking
from oncelog.client.aio.admin.admin import ConfigResource, ConfigResourceType, NewTopic
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata
from oncelog.protocol.acls import Acl, AclFilter
from oncelog.types import TopicPartition
from tests.integration.client.reading import make_topic, on_loop

TOPIC = "wrong-types"
HERE = TopicPartition(TOPIC, 0)
ACL = Acl(2, "t", 3, "User:a", "*", 3, 3)
OF_TOPIC = ConfigResource(ConfigResourceType.TOPIC, TOPIC)
NO_TEXT = "\udcff"

NO_STR: list[Any] = [None, 5, b"t", ["t"]]
NO_INT: list[Any] = [None, "1", 1.5, b"1", [1], 2**70, -(2**70)]
NO_LIST: list[Any] = [None, "ab", b"ab", 5]
NO_NAMES: list[Any] = [*NO_LIST, [5], [None], [b"a"], [""], [NO_TEXT], {"a": 1, 5: 2}]
NO_PARTITION: list[Any] = [
    *(None, "ab", 5, TOPIC, (TOPIC,), (TOPIC, "0"), (b"a", 0), (TOPIC, 0, 0), (None, 0), ("", 0), (NO_TEXT, 0)),
    *(TopicPartition(TOPIC, None), TopicPartition(TOPIC, "0"), TopicPartition(TOPIC, -1), (TOPIC, 2**31)),  # type: ignore[arg-type]
]
NO_PARTITIONS: list[Any] = [*NO_LIST, HERE, *([wrong] for wrong in NO_PARTITION)]
NO_MAPPING: list[Any] = [None, "ab", b"ab", 5, ["ab"], [("a", 1)]]
NO_OFFSETS: list[Any] = [
    *NO_MAPPING,
    *({wrong: 1} for wrong in NO_PARTITION),
    *({HERE: wrong} for wrong in (None, "1", 1.5, b"1", (1,), (1, 2), ("1", ""), (1, "", 0, 0), 2**70)),
    *({HERE: OffsetAndMetadata(*wrong)} for wrong in ((None, ""), ("1", ""), (1, b""), (1, "", "0"))),
]
NO_TIMES: list[Any] = [
    *NO_MAPPING,
    *({wrong: 1} for wrong in NO_PARTITION),
    *({HERE: wrong} for wrong in (None, "1", 1.5, b"1", 2**70)),
]
NO_RESOURCES: list[Any] = [
    *NO_LIST,
    *([wrong] for wrong in (None, "ab", 5, (2, "t"), TopicPartition("t", 0))),
    [ConfigResource("topic", "t")],  # type: ignore[arg-type]
    [ConfigResource(ConfigResourceType.TOPIC, 5)],  # type: ignore[arg-type]
    [ConfigResource(ConfigResourceType.BROKER, "first")],
]
NO_CONFIGS: list[Any] = [
    *NO_MAPPING,
    *({wrong: {}} for wrong in ("t", 5, None)),
    *(
        {ConfigResource(ConfigResourceType.TOPIC, TOPIC): wrong}
        for wrong in (None, "a=b", 5, ["a"], {5: "a"}, {"a": 5})
    ),
]
NO_NEW_TOPICS: list[Any] = [
    *NO_LIST,
    ["ab"],
    [None],
    [NewTopic(5)],  # type: ignore[arg-type]
    [NewTopic("")],
    [NewTopic(NO_TEXT)],
    [NewTopic("t", "1")],  # type: ignore[arg-type]
    [NewTopic("t", None)],  # type: ignore[arg-type]
    [NewTopic("t", 2**40)],
    [NewTopic("t", 1, "1")],  # type: ignore[arg-type]
    [NewTopic("t", 1, 2**20)],
    [NewTopic("t", replica_assignments=[1])],  # type: ignore[arg-type]
    [NewTopic("t", replica_assignments={"0": [1]})],  # type: ignore[dict-item]
    [NewTopic("t", replica_assignments={0: 1})],  # type: ignore[dict-item]
    [NewTopic("t", replica_assignments={0: ["1"]})],  # type: ignore[list-item]
    [NewTopic("t", topic_configs="a=b")],  # type: ignore[arg-type]
    [NewTopic("t", topic_configs={"a": 5})],  # type: ignore[dict-item]
    [NewTopic("t", topic_configs={5: "a"})],  # type: ignore[dict-item]
]
NO_FILTER: list[Any] = [
    *(None, "ab", 5, ("a",), tuple(range(7))),
    *(AclFilter(*"abcdefg"), AclFilter(1, 5, 1, None, None, 1, 1), AclFilter(1, None, 1, None, None, 2**40, 1)),  # type: ignore[arg-type]
]
NO_COLUMN: list[Any] = [None, "ab", b"ab", 5, ["a"], [5], [[b"a"]]]
NO_HEADERS: list[Any] = [
    5,
    "ab",
    b"ab",
    {"a": b"a"},
    ["a"],
    [5],
    [None],
    [("a",)],
    [(b"a", b"")],
    [("a", "b")],
    [("a", b"", 1)],
]
WRONG: dict[str, list[Any]] = {
    "str": NO_STR,
    "TopicPattern": [*NO_STR[1:], re.compile(b"t")],
    "int": NO_INT,
    "TopicPartition": NO_PARTITION,
    "Iterable[str]": NO_NAMES,
    "Sequence[str]": NO_NAMES,
    "list[str]": NO_NAMES,
    "Sequence[int]": [*NO_LIST, ["1"], [None], [2**70]],
    "list[int]": [*NO_LIST, ["1"], [None]],
    "Iterable[TopicPartition]": NO_PARTITIONS,
    "Sequence[TopicPartition]": NO_PARTITIONS,
    "Mapping[TopicPartition, int]": NO_TIMES,
    "Mapping[TopicPartition, int | RecordsToDelete]": NO_OFFSETS,
    "dict[TopicPartition, RecordsToDelete]": NO_OFFSETS,
    "Offsets": NO_OFFSETS,
    "Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]]": NO_OFFSETS,
    "Mapping[TopicPartition, Sequence[int] | None]": [
        *NO_MAPPING,
        *({wrong: [1]} for wrong in NO_PARTITION),
        *({HERE: wrong} for wrong in ("1", b"1", 5, ["1"], [None], [2**40])),
    ],
    "Mapping[str, int]": [*NO_MAPPING, {5: 1}, {"": 1}, {"t": "1"}, {"t": None}, {"t": 1.5}, {"t": 2**40}],
    "Mapping[str, Sequence[Sequence[int]]]": [*NO_MAPPING[1:], {TOPIC: 1}, {TOPIC: [1]}, {TOPIC: [["1"]]}, {5: [[1]]}],
    "dict[str, NewPartitions]": [*NO_MAPPING, {TOPIC: 2}, {TOPIC: None}, {5: NewPartitions(2)}],
    "Iterable[NewTopic]": NO_NEW_TOPICS,
    "list[NewTopic]": [*NO_LIST, ["ab"], [None]],
    "Iterable[ConfigResource]": NO_RESOURCES,
    "list[ConfigResource]": [*NO_LIST, ["ab"], [None]],
    "Mapping[ConfigResource, Mapping[str, str | None]]": NO_CONFIGS,
    "Iterable[Acl]": [*NO_LIST, ACL, [None], ["ab"], [tuple(ACL)[:3]], [ACL._replace(principal=5)]],  # type: ignore[arg-type]
    "AclFilter": NO_FILTER,
    "ProducerState": ["ab", 5, ("a",)],
    "str | ConsumerGroupMetadata": [None, 5, b"g", ["g"], ConsumerGroupMetadata(None)],  # type: ignore[arg-type]
    "ConsumerRebalanceListener": ["ab", 5, print],
    "RecordHeaders": NO_HEADERS,
    "Sequence[Bytes | None]": NO_COLUMN,
    "SupportsIndex | Iterable[SupportsIndex]": ["1", 1.5, b"1", ["1"], [1.5], [None], [1, 2], [2**70], 2**70],
    "Sequence[RecordHeaders | None]": [5, "ab", *([wrong] for wrong in NO_HEADERS), [None, None]],
    "pa.Table | pa.RecordBatch": [None, "ab", b"ab", 5, [b"a"], {"value": [b"a"]}],
    "Batch": [None, "ab", b"ab", 5],
    "SentK": ["text", 5, 1.5, ["a"]],
    "SentV": ["text", 5, 1.5, ["a"]],
}
"""The values that are refused for each kind of argument, optional or not; None only if None is not allowed."""
FREE = {
    "bool",
    "timeout_ms of AIOKafkaAdminClient",
    "group_coordinator_id of AIOKafkaAdminClient",
    "token of AIOKafkaProducer",
}
"""Arguments that are not checked: flags, which may be anything true or false, and those without effect."""

RIGHT: dict[str, Any] = {
    "topic": TOPIC,
    "topics": [TOPIC],
    "names": [TOPIC],
    "group_id": "g",
    "group_ids": ["g"],
    "transactional_ids": ["x"],
    "user": "u",
    "mechanism": 1,
    "password": "p",
    "iterations": 4096,
    "offset": 0,
    "partition": HERE,
    "partitions": [HERE],
    "offsets": {HERE: 0},
    "batch": None,
    "values": [b"v"],
    "counts": {TOPIC: 2},
}


def _calls(client: Any) -> Iterator[tuple[str, str, list[Any]]]:
    """Each method with each of its arguments and a value of the wrong type."""
    for name, method in inspect.getmembers(type(client), inspect.isfunction):
        if name.startswith("_"):
            continue
        for parameter in list(inspect.signature(method).parameters.values())[1:]:
            kind = parameter.annotation
            optional = kind.endswith(" | None")
            kind = kind.removesuffix(" | None")
            if kind in FREE or f"{parameter.name} of {type(client).__name__}" in FREE:
                continue
            wrongs = [*(wrong for wrong in WRONG[kind] if not (optional and wrong is None))]
            if parameter.name == "timeout_ms":
                wrongs = [*(wrong for wrong in wrongs if type(wrong) is not float), float("nan")]
            yield name, parameter.name, wrongs


def _call(client: Any, name: str, wanted: str, wrong: Any) -> Any:
    method = getattr(client, name)
    args: list[Any] = []
    options: dict[str, Any] = {}
    for parameter in inspect.signature(method).parameters.values():
        right = RIGHT.get(parameter.name)
        if parameter.name == "partition" and "TopicPartition" not in parameter.annotation:
            right = 0
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            args += [wrong] if parameter.name == wanted else []
        elif parameter.name == wanted:
            options[parameter.name] = wrong
        elif parameter.default is inspect.Parameter.empty:
            options[parameter.name] = right
    return method(*args, **options)


def _refusal(call: Callable[[], Any]) -> str:
    """What is wrong with the way a call is refused; empty if it is a sentence of the right kind."""
    try:
        result = call()
    except (TypeError, ValueError) as error:
        text = str(error)
        return "" if text and "\n" not in text and not _PYTHONS_OWN.search(text) else f"says {text!r}"
    except BaseException as error:  # noqa: BLE001 - anything else is what the test looks for
        return repr(error)
    return f"accepted: {result!r}"


_PYTHONS_OWN = re.compile(r"argument|object|unhashable|unpack|codec")
"""Words that Python's own message uses when something fails deep inside the client."""


def _wrong_calls(client: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, wanted, wrongs in _calls(client):
        for wrong in wrongs:
            yield f"{name}({wanted}={wrong!r})", partial(_call, client, name, wanted, wrong)


async def _awaited(call: Callable[[], Any]) -> Any:
    result = call()
    if inspect.isawaitable(result) and not isinstance(result, asyncio.Future):
        async with asyncio.timeout(60):
            return await result
    return result


async def _check(client: Any) -> None:
    failures = []
    loop = asyncio.get_running_loop()
    for reported, call in _wrong_calls(client):
        outcome = await asyncio.gather(loop.create_task(_awaited(call)), return_exceptions=True)
        refusal = _refusal(partial(_result, outcome[0]))
        if refusal:
            failures.append(f"{reported}: {refusal}")
    assert not failures, "\n".join(failures)


def _result(outcome: Any) -> Any:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with oncelog.Broker(settings={"transaction.two.phase.commit.enable": "true"}) as broker:
        asyncio.run(make_topic(broker.bootstrap_servers, TOPIC))
        yield broker.bootstrap_servers


@pytest.mark.parametrize("kind", [aio.Admin, AIOKafkaAdminClient])
@on_loop
async def test_admin_clients_refuse_arguments_of_wrong_types(servers: str, kind: Callable[..., Any]) -> None:
    async with kind(bootstrap_servers=servers) as admin:
        await _check(admin)
        topics = await admin.list_topics()
        assert [name for name in topics if not name.startswith("__")] == [TOPIC]


@pytest.mark.parametrize("kind", [aio.Producer, AIOKafkaProducer])
@on_loop
async def test_producers_refuse_wrong_types_and_continue_their_transaction(
    servers: str, unique_name: str, kind: Callable[..., Any]
) -> None:
    options = {"two_phase_commit": True} if kind is aio.Producer else {}
    async with kind(bootstrap_servers=servers, transactional_id=unique_name, **options) as producer:
        await producer.begin_transaction()
        await _check(producer)
        before = (await producer.send_and_wait(TOPIC, b"good")).offset
        assert (await producer.send_and_wait(TOPIC, b"good")).offset == before + 1
        await producer.commit_transaction()


@pytest.mark.parametrize("kind", [aio.Consumer, AIOKafkaConsumer])
@on_loop
async def test_consumers_refuse_arguments_of_wrong_types(
    servers: str, unique_name: str, kind: Callable[..., Any]
) -> None:
    async with kind(bootstrap_servers=servers, group_id=unique_name) as consumer:
        consumer.assign([HERE])
        await _check(consumer)
        assert consumer.assignment() == {HERE}


def test_blocking_clients_refuse_arguments_of_wrong_types(servers: str, unique_name: str) -> None:
    with (
        blocking.Admin(bootstrap_servers=servers) as admin,
        blocking.Producer(bootstrap_servers=servers, transactional_id=unique_name, two_phase_commit=True) as producer,
        blocking.Consumer(bootstrap_servers=servers, group_id=unique_name) as consumer,
    ):
        consumer.assign([HERE])
        producer.begin_transaction()
        clients: list[Any] = [admin, producer, consumer]
        failures = [
            f"{type(client).__name__}.{reported}: {refusal}"
            for client in clients
            for reported, call in _wrong_calls(client)
            if (refusal := _refusal(call))
        ]
        producer.commit_transaction()
    assert not failures, "\n".join(failures)
