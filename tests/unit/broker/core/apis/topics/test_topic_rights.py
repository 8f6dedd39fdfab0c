"""DeleteTopics and Metadata over their ports: what a caller without all rights is told, in Apache Kafka's order."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.errors import Error, KafkaError, StorageError
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.support.handler_ports import HandlerPorts
from tests.unit.broker.log.batches import NOW_MS

ORDERS, INVOICES, NO_ID = b"orders-id-16byte", b"invoices-id-16by", bytes(16)
DELETE, DESCRIBE, CREATE = Operation.DELETE, Operation.DESCRIBE, Operation.CREATE
UNAUTHORIZED, UNKNOWN = Error.TOPIC_AUTHORIZATION_FAILED, Error.UNKNOWN_TOPIC_OR_PARTITION
Grant = tuple[Operation, str]


class TopicFakes(HandlerPorts):
    """Topics ``orders`` and ``invoices``; everything is allowed until :meth:`allow`."""

    def __init__(self) -> None:
        self.known = {
            name: SimpleNamespace(name=name, topic_id=topic_id, partitions=1, internal=False)
            for name, topic_id in (("orders", ORDERS), ("invoices", INVOICES))
        }
        self.failure: Exception | None = None
        self.made: list[str] = []
        settings = SimpleNamespace(delete_topic_enable=True, auto_create_topics_enable=True, num_partitions=1)
        super().__init__(
            NOW_MS,
            config=settings,
            node=SimpleNamespace(node_id=1),
            nodes=SimpleNamespace(seen_by=lambda context: ([], 1)),
            topics=SimpleNamespace(deletion=nullcontext, deleting=self.deleting, auto_creating=self.auto_creating),
            metadata=SimpleNamespace(
                cluster_id="c",
                topic=self.known.get,
                topics=lambda: list(self.known.values()),
                topic_by_id=self.by_id,
                colliding_topic=lambda _: None,
            ),
        )

    def by_id(self, topic_id: bytes) -> Any:
        return next((info for info in self.known.values() if info.topic_id == topic_id), None)

    def partition(self, name: object) -> None:
        return None

    def allow(self, *granted: Grant) -> None:
        allowing: Any = SimpleNamespace(
            allows=lambda principal, host, operation, kind, name: (operation, name) in granted
        )
        self.authorizer = allowing

    def deleting(self, name: str, now_ms: int) -> Iterator[None]:
        yield
        if self.failure is not None:
            raise self.failure
        del self.known[name]

    def auto_creating(self, name: str, now_ms: int) -> Generator[None, None, Error]:
        yield
        self.made.append(name)
        return Error.LEADER_NOT_AVAILABLE

    def delete(self, *asked: DeleteTopicState) -> list[tuple[str | None, Error]]:
        answer = self.ask(DeleteTopicsRequest(topics=list(asked), timeout_ms=1000), 6)
        return [(found.name, Error(found.error_code)) for found in answer.responses]

    def describe(self, topics: list[MetadataRequestTopic] | None, version: int = 12) -> list[tuple[str | None, Error]]:
        answer = self.ask(MetadataRequest(topics, True), version)
        return [(found.name, Error(found.error_code)) for found in answer.topics]


@pytest.fixture
def ports() -> TopicFakes:
    return TopicFakes()


def by_name(*names: str) -> list[DeleteTopicState]:
    return [DeleteTopicState(name) for name in names]


def by_id(*ids: bytes) -> list[DeleteTopicState]:
    return [DeleteTopicState(None, topic_id) for topic_id in ids]


def test_topics_are_deleted_by_name_and_by_id(ports: TopicFakes) -> None:
    assert ports.delete(*by_name("orders"), *by_id(INVOICES)) == [("invoices", Error.NONE), ("orders", Error.NONE)]
    assert ports.known == {}


@pytest.mark.parametrize(
    ("granted", "of_name", "of_id"),
    [
        ((), ("orders", UNAUTHORIZED), (None, UNAUTHORIZED)),
        ([(DESCRIBE, "orders")], ("orders", UNAUTHORIZED), ("orders", UNAUTHORIZED)),
        ([(DELETE, "orders"), (DESCRIBE, "orders")], ("orders", Error.NONE), ("orders", Error.NONE)),
        ([(DELETE, "kafka-cluster")], ("orders", Error.NONE), ("orders", Error.NONE)),
    ],
)
def test_a_topic_name_is_returned_only_with_describe_permission(
    granted: list[Grant], of_name: tuple[str, Error], of_id: tuple[str, Error]
) -> None:
    for asked, expected in ((by_name("orders"), of_name), (by_id(ORDERS), of_id)):
        ports = TopicFakes()
        ports.allow(*granted)
        assert ports.delete(*asked) == [expected]


def test_a_caller_without_describe_permission_does_not_learn_that_the_topic_is_missing(ports: TopicFakes) -> None:
    ports.allow((DESCRIBE, "gone"))
    assert ports.delete(*by_name("gone", "hidden")) == [("gone", UNKNOWN), ("hidden", UNAUTHORIZED)]
    assert ports.delete(*by_id(b"nothing-has-it!!")) == [(None, Error.UNKNOWN_TOPIC_ID)]


def test_a_topic_named_twice_or_by_name_and_id_is_refused(ports: TopicFakes) -> None:
    invalid = Error.INVALID_REQUEST
    assert ports.delete(*by_name("orders", "orders")) == [("orders", invalid)]
    assert ports.delete(*by_id(ORDERS, ORDERS)) == [(None, invalid)]
    assert ports.delete(*by_name("orders"), *by_id(ORDERS)) == [("orders", invalid)]
    assert ports.delete(DeleteTopicState("orders", ORDERS)) == [("orders", invalid)]
    assert ports.delete(DeleteTopicState(None, NO_ID)) == [(None, invalid)]
    assert len(ports.known) == 2


@pytest.mark.parametrize(
    ("failure", "error"),
    [(KafkaError(UNKNOWN, "gone"), UNKNOWN), (StorageError("no sector"), Error.KAFKA_STORAGE_ERROR)],
)
def test_a_failed_deletion_of_a_topic_is_answered_with_the_reason(
    ports: TopicFakes, failure: Exception, error: Error
) -> None:
    ports.failure = failure
    assert ports.delete(*by_name("orders")) == [("orders", error)]


def test_metadata_of_all_topics_contains_topics_that_the_caller_may_describe(ports: TopicFakes) -> None:
    ports.allow((DESCRIBE, "orders"))
    assert [name for name, _ in ports.describe(None)] == ["orders"]
    assert [name for name, _ in ports.describe([], 0)] == ["orders"], "version 0 has no null for all"
    assert ports.describe([]) == []


def test_metadata_by_id_names_only_what_the_caller_may_describe(ports: TopicFakes) -> None:
    ports.allow((DESCRIBE, "orders"))
    asked = [MetadataRequestTopic(topic_id, None) for topic_id in (ORDERS, INVOICES, b"nothing-has-it!!")]
    (_, *others) = ports.describe(asked)
    assert others == [(None, UNAUTHORIZED), (None, Error.UNKNOWN_TOPIC_ID)]


@pytest.mark.parametrize("version", [11, 12])
def test_a_topic_without_name_and_id_is_an_invalid_request(ports: TopicFakes, version: int) -> None:
    """``MetadataRequest.getErrorResponse`` gives it an empty name."""
    assert ports.describe([MetadataRequestTopic(NO_ID, None)], version) == [("", Error.INVALID_REQUEST)]


@pytest.mark.parametrize(
    ("granted", "error", "is_made"),
    [
        ([], UNAUTHORIZED, False),
        ([(DESCRIBE, "new")], UNAUTHORIZED, False),
        ([(DESCRIBE, "new"), (CREATE, "new")], Error.LEADER_NOT_AVAILABLE, True),
        ([(DESCRIBE, "new"), (CREATE, "kafka-cluster")], Error.LEADER_NOT_AVAILABLE, True),
    ],
)
def test_a_missing_topic_is_created_with_create_permission(
    ports: TopicFakes, granted: list[Grant], error: Error, is_made: bool
) -> None:
    ports.allow(*granted)
    assert ports.describe([MetadataRequestTopic(NO_ID, "new")]) == [("new", error)]
    assert ports.made == (["new"] if is_made else [])


def test_a_topic_with_an_illegal_name_is_not_created(ports: TopicFakes) -> None:
    assert ports.describe([MetadataRequestTopic(NO_ID, "b@d")]) == [("b@d", Error.INVALID_TOPIC_EXCEPTION)]
    assert ports.made == []
