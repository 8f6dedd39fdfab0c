"""The quota of partitions that a client creates and deletes (KIP-599), over the APIs that change them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.errors import Error
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.wire import Message
from tests.unit.broker.core.conftest import NOW_MS, Admin, RecordingChannel

CREATE = CreateTopicsRequest([CreatableTopic("new", 50, 1)])
GROW = CreatePartitionsRequest([CreatePartitionsTopic("old", 60, None)])
DELETE = DeleteTopicsRequest(topic_names=["old"], timeout_ms=1000)


@pytest.fixture(autouse=True)
def throttled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long connections were told to wait."""
    waits: list[int] = []
    monkeypatch.setattr(RecordingChannel, "throttle", lambda self, wait_ms: waits.append(wait_ms), raising=False)
    return waits


@pytest.fixture
def admin() -> Iterator[Admin]:
    """Everybody may create and delete one partition a second; ``old`` has used up all of it and more."""
    made = Admin()
    rate = EntryData([EntityData("user", None)], [OpData("controller_mutation_rate", 1.0)])
    assert made.ask(AlterClientQuotasRequest([rate]), 1).entries[0].error_code == Error.NONE
    made.ask(CreateTopicsRequest([CreatableTopic("old", 50, 1)]), 7)
    yield made
    made.broker.stop(NOW_MS)


def error_of(answer: Any) -> Error:
    for name in ("topics", "results", "responses"):
        if hasattr(answer, name):
            return Error(getattr(answer, name)[0].error_code)
    raise AssertionError(answer)


@pytest.mark.parametrize(
    ("request_", "strict", "lax"), [(CREATE, 6, 5), (GROW, 3, 2), (DELETE, 5, 4)], ids=["create", "grow", "delete"]
)
def test_above_the_quota_versions_with_the_quota_error_are_refused_and_older_versions_throttled(
    admin: Admin, throttled: list[int], request_: Message, strict: int, lax: int
) -> None:
    throttled.clear()
    refused = admin.ask(request_, strict)
    assert error_of(refused) is Error.THROTTLING_QUOTA_EXCEEDED
    assert refused.throttle_time_ms == throttled[-1] > 0
    done = admin.ask(request_, lax)
    assert error_of(done) is Error.NONE
    assert done.throttle_time_ms == throttled[-1] > refused.throttle_time_ms


def test_without_a_quota_topic_mutations_are_not_counted(throttled: list[int]) -> None:
    free = Admin()
    assert error_of(free.ask(CREATE, 7)) is Error.NONE
    assert throttled == []
    free.broker.stop(NOW_MS)
