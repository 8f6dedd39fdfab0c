"""Answers as bytes: a list of the broker's state is the same in chunks as at once, and long messages are cut."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from oncelog.broker.core.requests.answers import LISTS, LONGEST_MESSAGE, encoded, encoded_in_chunks
from oncelog.broker.core.requests.work import finished
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from oncelog.protocol.generated.list_groups_response import ListedGroup, ListGroupsResponse
from oncelog.protocol.messages import response_type


def context(key: ApiKey, version: int) -> Any:
    return SimpleNamespace(api_key=key, api_version=version, correlation_id=7)


def joined(parts: Any) -> bytes:
    return b"".join(bytes(part) for part in parts)


def topics(count: int, message: str) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=f"t{number}", error_code=17, error_message=message) for number in range(count)
        ]
    )


def test_an_overlong_error_message_is_truncated_and_the_rest_of_the_answer_is_unchanged() -> None:
    """A text of version 4 has at most 32,767 bytes; messages may repeat what a client has sent."""
    asked = context(ApiKey.CREATE_TOPICS, 4)
    for long, expected in (("m" * 40_000, "m" * LONGEST_MESSAGE), ("short", "short")):
        at_once = joined(encoded(asked, topics(100, long)))
        assert at_once == joined(finished(encoded_in_chunks(asked, topics(100, long), "topics")))
        found = CreateTopicsResponse.decode(at_once, 4, 8)  # behind size and correlation id
        assert {topic.error_message for topic in found.topics} == {expected}
        assert [topic.name for topic in found.topics] == [f"t{number}" for number in range(100)]


@pytest.mark.parametrize("count", [0, 1, 20, 21, 47])
@pytest.mark.parametrize("version", [0, 5])
def test_an_answer_written_in_chunks_has_the_same_bytes_as_an_answer_written_at_once(count: int, version: int) -> None:
    answer = ListGroupsResponse(groups=[ListedGroup(f"g{number}", "consumer") for number in range(count)])
    asked = context(ApiKey.LIST_GROUPS, version)
    chunked = encoded_in_chunks(asked, answer, "groups")
    assert joined(encoded(asked, answer)) == joined(finished(chunked))
    assert len(answer.groups) == count


def test_every_chunked_list_names_an_array_of_its_answer() -> None:
    for api_key, name in LISTS.items():
        assert isinstance(getattr(response_type(api_key)(), name), list)
