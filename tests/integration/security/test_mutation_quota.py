"""``controller_mutation_rate`` on both brokers: a client that has used it up is refused, or waits if its version
knows no refusal.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from tests.integration.security.sides import Side, kafka_side, oncelog_side

NONE, QUOTA_EXCEEDED = 0, 89
NAMES = count()


@pytest.fixture(scope="module", params=["oncelog", "kafka"])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    with (kafka_side if request.param == "kafka" else oncelog_side)({}) as running:
        yield running


@pytest.fixture
def slow(side: Side) -> Iterator[RawConnection]:
    """A connection whose client id has used up its quota: a partition an hour.

    The first request takes more than has accumulated, and is let through.
    """
    client_id = f"slow-{next(NAMES)}"
    operation = OpData("controller_mutation_rate", 1 / 3600, False)
    entry = EntryData([EntityData("client-id", client_id)], [operation])
    answer = side.admin.ask(AlterClientQuotasRequest([entry], False), 1)
    assert [entry.error_code for entry in answer.entries] == [NONE]

    def is_refused() -> bool:
        """Kafka's broker learns of the quota a moment later."""
        with RawConnection(side.open_servers, client_id=client_id) as client:
            topic = CreatableTopic("tried", 50, 1)
            answer = client.ask(CreateTopicsRequest([topic], 5000, validate_only=True), 7)
            return bool(answer.topics[0].error_code == QUOTA_EXCEEDED)

    eventually(is_refused)
    with RawConnection(side.open_servers, client_id=client_id) as client:
        yield client


def test_a_topic_over_the_quota_is_refused_and_its_client_waits(side: Side, slow: RawConnection) -> None:
    answer = slow.ask(CreateTopicsRequest([CreatableTopic("refused", 3, 1)], 5000), 7)
    (topic,) = answer.topics
    assert (topic.error_code, topic.error_message) == (QUOTA_EXCEEDED, None)
    assert answer.throttle_time_ms > 0


def test_partitions_over_the_quota_are_refused(side: Side, slow: RawConnection) -> None:
    side.admin.create_topic("grows")
    answer = slow.ask(CreatePartitionsRequest([CreatePartitionsTopic("grows", 3, None)], 5000, False), 3)
    (topic,) = answer.results
    assert topic.error_code == QUOTA_EXCEEDED
    assert answer.throttle_time_ms > 0


def test_a_deletion_over_the_quota_is_refused(side: Side, slow: RawConnection) -> None:
    side.admin.create_topic("stays")
    answer = slow.ask(DeleteTopicsRequest(topics=[DeleteTopicState("stays")], timeout_ms=5000), 6)
    (topic,) = answer.responses
    assert (topic.error_code, topic.error_message) == (QUOTA_EXCEEDED, None)


def test_a_version_without_the_quota_error_is_served_and_throttled(side: Side, slow: RawConnection) -> None:
    answer = slow.ask(CreateTopicsRequest([CreatableTopic("made", 1, 1)], 5000), 5)
    assert [topic.error_code for topic in answer.topics] == [NONE]
    assert answer.throttle_time_ms > 0
