"""Changes of settings that are refused, with Apache Kafka 4.4.0's errors and messages."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from oncelog.errors import Error
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.unit.broker.core.conftest import Admin

TOPIC, LOGGER, METRICS, GROUP = 2, 8, 16, 32
SET, APPEND = 0, 2
Operation = tuple[str, int, str | None]
SESSION = "consumer.session.timeout.ms"


class Refused(NamedTuple):
    """A change, and how it is refused."""

    kind: int
    name: str
    operations: tuple[Operation, ...]
    error: Error
    message: str


CHANGES = (
    Refused(
        TOPIC, "", (("retention.ms", SET, "1"),), Error.INVALID_REQUEST, "Default topic resources are not allowed."
    ),
    Refused(
        TOPIC,
        "a b",
        (("retention.ms", SET, "1"),),
        Error.INVALID_TOPIC_EXCEPTION,
        "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
    ),
    Refused(
        TOPIC,
        "absent",
        (("retention.ms", SET, "1"),),
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        "The topic 'absent' does not exist.",
    ),
    Refused(
        TOPIC,
        "t",
        (("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
        Error.INVALID_REQUEST,
        "Error due to duplicate config keys",
    ),
    Refused(
        TOPIC,
        "t",
        (("retention.ms", SET, None),),
        Error.INVALID_REQUEST,
        "Null value not supported for : retention.ms",
    ),
    Refused(GROUP, "", ((SESSION, SET, "50000"),), Error.INVALID_REQUEST, "Default group resources are not allowed."),
    Refused(GROUP, "g", (("nope", SET, "1"),), Error.INVALID_CONFIG, "Unknown group config name: nope"),
    Refused(
        GROUP,
        "g",
        ((SESSION, SET, "1"),),
        Error.INVALID_CONFIG,
        f"{SESSION} must be in the range 45000 to 60000 inclusive.",
    ),
    Refused(
        GROUP,
        "g",
        (("streams.task.offset.interval.ms", SET, "100"),),
        Error.INVALID_CONFIG,
        "streams.task.offset.interval.ms must be greater than or equal to 15000",
    ),
    Refused(
        GROUP,
        "g",
        (("streams.assignor.name", SET, "nope"),),
        Error.INVALID_CONFIG,
        "streams.assignor.name 'nope' is not a registered task assignor. Registered assignors are: [sticky].",
    ),
    Refused(METRICS, "", (("interval.ms", SET, "1000"),), Error.INVALID_REQUEST, "Subscription name can't be empty"),
    Refused(METRICS, "m", (("nope", SET, "1"),), Error.INVALID_REQUEST, "Unknown client metrics configuration: nope"),
    Refused(
        METRICS,
        "m",
        (("interval.ms", SET, "99"),),
        Error.INVALID_REQUEST,
        "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
    ),
    Refused(
        METRICS,
        "m",
        (("interval.ms", SET, "x"),),
        Error.INVALID_CONFIG,
        "Invalid value x for configuration interval.ms: Not a number of type INT",
    ),
    Refused(
        METRICS,
        "m",
        (("match", SET, "client_software_name"),),
        Error.INVALID_CONFIG,
        "Illegal client matching pattern: client_software_name",
    ),
    Refused(99, "x", (("a", SET, "1"),), Error.INVALID_REQUEST, "Unknown resource type 99"),
    Refused(
        LOGGER,
        "1",
        (("absent.logger", SET, "INFO"),),
        Error.INVALID_CONFIG,
        "Logger absent.logger does not exist!",
    ),
    Refused(
        LOGGER,
        "1",
        (("root", APPEND, "INFO"),),
        Error.INVALID_REQUEST,
        "APPEND operation is not allowed for the BROKER_LOGGER resource",
    ),
    Refused(
        LOGGER,
        "2",
        (("root", SET, "INFO"),),
        Error.INVALID_REQUEST,
        "Unexpected node id. Expected 1, but received 2",
    ),
    Refused(
        LOGGER,
        "x",
        (("root", SET, "INFO"),),
        Error.INVALID_REQUEST,
        "Node id must be an integer, but it is: x",
    ),
)


def altering(*changes: Refused) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        [
            AlterConfigsResource(change.kind, change.name, [AlterableConfig(*one) for one in change.operations])
            for change in changes
        ],
        False,
    )


@pytest.fixture
def with_topic(admin: Admin) -> Admin:
    admin.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1, [], [])], 1000, False), 7)
    return admin


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change.kind}-{change.message[:30]}")
def test_a_change_is_refused_with_kafkas_reason(with_topic: Admin, change: Refused) -> None:
    (answer,) = with_topic.ask(altering(change)).responses
    assert (answer.error_code, answer.error_message) == (change.error, change.message)
    assert (answer.resource_type, answer.resource_name) == (change.kind, change.name)


def test_a_resource_that_is_named_twice_is_refused_each_time_and_the_others_are_changed(with_topic: Admin) -> None:
    operation: Operation = ("retention.ms", SET, "5")
    one = Refused(TOPIC, "t", (operation,), Error.NONE, "")
    other = Refused(METRICS, "m", (("interval.ms", SET, "1000"),), Error.NONE, "")
    answers = with_topic.ask(altering(one, one, other)).responses
    reported = "Each resource must appear at most once."
    assert [(answer.error_code, answer.error_message) for answer in answers] == [
        (Error.INVALID_REQUEST, reported),
        (Error.INVALID_REQUEST, reported),
        (Error.NONE, None),
    ]
    assert with_topic.broker.metadata.topic("t").overrides == {}  # type: ignore[union-attr]
