"""Strategies for the subject under which a record's schema is registered. Pure."""

from __future__ import annotations

from collections.abc import Callable

from oncelog.errors import ConfigError

SubjectName = Callable[[str | None, bool, str | None], str]
"""Computes the subject from a topic, whether the schema is the key's, and the full name of the record or message."""


def topic_subject(topic: str | None, is_key: bool, record_name: str | None) -> str:
    """``TOPIC-value`` or ``TOPIC-key``: all records of a topic have one schema, which may evolve."""
    return f"{_needed(topic, 'topic')}-{'key' if is_key else 'value'}"


def record_subject(topic: str | None, is_key: bool, record_name: str | None) -> str:
    """The record's full name: the record's schema is the same in every topic, and evolves there together."""
    return _needed(record_name, "record name")


def topic_record_subject(topic: str | None, is_key: bool, record_name: str | None) -> str:
    """``TOPIC-NAME``: a topic may have records of several types, each with a schema that evolves separately."""
    return f"{_needed(topic, 'topic')}-{_needed(record_name, 'record name')}"


def _needed(name: str | None, what: str) -> str:
    if not name:
        step = (
            "give the serializer topic=..." if what == "topic" else "the schema needs a name (in JSON Schema a title)"
        )
        raise ConfigError(f"the subject of this schema cannot be named without a {what}: {step}")
    return name
