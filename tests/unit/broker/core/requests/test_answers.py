"""Answers as bytes: what is written in chunks is what is written at once, and long messages are cut."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from oncelog.broker.core.requests.answers import LONGEST_MESSAGE, encoded, encoded_in_chunks, freeing, parts_of
from oncelog.broker.core.requests.work import finished
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from oncelog.protocol.generated.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData


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


def test_a_message_that_no_text_can_hold_is_cut_and_all_else_stays() -> None:
    """A text of version 4 has at most 32,767 bytes; messages may repeat what a client has sent."""
    asked = context(ApiKey.CREATE_TOPICS, 4)
    for long, expected in (("m" * 40_000, "m" * LONGEST_MESSAGE), ("short", "short")):
        at_once = joined(encoded(asked, topics(100, long)))
        assert at_once == joined(finished(encoded_in_chunks(asked, topics(100, long))))
        found = CreateTopicsResponse.decode(at_once, 4, 8)  # behind size and correlation id
        assert {topic.error_message for topic in found.topics} == {expected}
        assert [topic.name for topic in found.topics] == [f"t{number}" for number in range(100)]


def test_a_fetch_is_written_in_chunks_as_at_once() -> None:
    answer = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=f"t{number}", partitions=[PartitionData(index, 0, 5, records=b"r" * 9) for index in range(2)]
            )
            for number in range(100)
        ]
    )
    asked = context(ApiKey.FETCH, 12)
    assert joined(encoded(asked, answer)) == joined(finished(encoded_in_chunks(asked, answer)))


def test_all_structures_of_an_answer_are_freed_and_those_that_hold_others_later() -> None:
    answer = FetchResponse(
        responses=[FetchableTopicResponse(partitions=[PartitionData(0) for _ in range(3)]) for _ in range(70)]
    )
    parts = finished(parts_of(answer))
    assert len(parts) == 1 + 70 + 210
    assert parts.index(answer) > max(parts.index(topic) for topic in answer.responses)
    finished(freeing(parts))
    assert parts == []
