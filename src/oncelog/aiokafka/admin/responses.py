"""Responses of aiokafka's admin client: the rows of the protocol's responses, as plain tuples."""

from __future__ import annotations

from dataclasses import dataclass

TopicError = tuple[str, int, str | None]
ConfigRow = tuple[str, str | None, bool, int, bool, list[tuple[str, str | None, int]]]
"""One setting: its name, its value, whether it is read-only, its source, whether it is sensitive, and its synonyms."""
ResourceConfigs = tuple[int, str | None, int, str, list[ConfigRow]]
"""The settings of one resource: error code, error message, type and name of the resource, settings."""
Group = tuple[int, str, str, str, str, list[tuple[str, str | None, str, str, list[tuple[str, int]]]]]
"""One group: error code, name, state, protocol type, assignor and members. A member is its id, its instance id, its
client id, its host and its partitions."""


@dataclass(frozen=True, slots=True)
class TopicsResponse:
    """Response of ``create_topics`` and ``create_partitions``."""

    topic_errors: list[TopicError]


@dataclass(frozen=True, slots=True)
class DeleteTopicsResponse:
    topic_error_codes: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class DescribeConfigsResponse:
    resources: list[ResourceConfigs]


@dataclass(frozen=True, slots=True)
class AlterConfigsResponse:
    resources: list[tuple[int, str | None, int, str]]


@dataclass(frozen=True, slots=True)
class DescribeGroupsResponse:
    groups: list[Group]


__all__ = [
    "AlterConfigsResponse",
    "DeleteTopicsResponse",
    "DescribeConfigsResponse",
    "DescribeGroupsResponse",
    "TopicsResponse",
]
