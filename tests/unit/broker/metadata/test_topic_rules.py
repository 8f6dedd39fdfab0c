"""Names and overrides of topics; messages and verdicts are those of Apache Kafka 4.4.0."""

from __future__ import annotations

import pytest

from oncelog.broker.metadata.topic_rules import name_refusal, overrides_refusal
from oncelog.settings.config import TopicConfig


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 249, "...", "_", "__consumer_offsets"])
def test_legal_topic_names_are_allowed(name: str) -> None:
    assert name_refusal(name) is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Topic name is invalid: the empty string is not allowed"),
        (".", "Topic name is invalid: '.' is not allowed"),
        ("..", "Topic name is invalid: '..' is not allowed"),
        (
            "x" * 250,
            f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249",
        ),
        (
            "a b",
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'",
        ),
    ],
)
def test_illegal_topic_names_are_refused(name: str, message: str) -> None:
    assert name_refusal(name) == message


@pytest.mark.parametrize("name", ["ä", "a\n", "a/b", "a:b", "١"])
def test_only_ascii_letters_digits_dot_underscore_and_dash_are_legal(name: str) -> None:
    assert name_refusal(name) is not None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"retention.ms": None, "x": None}, "Null value not supported for topic configs: retention.ms,x"),
        ({"segment.bytes": "x", "nope": "1"}, "Unknown topic config name: nope"),
        ({"segment.bytes": "x"}, "Invalid value x for configuration segment.bytes: Not a number of type INT"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
        ),
        (
            {"remote.storage.enable": "true"},
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage.",
        ),
    ],
    ids=str,
)
def test_invalid_topic_overrides_are_refused_in_kafkas_words(values: dict[str, str | None], message: str) -> None:
    assert overrides_refusal(values, TopicConfig()) == message


def test_overrides_are_checked_together_with_the_defaults() -> None:
    defaults = TopicConfig(max_compaction_lag_ms=5)
    assert overrides_refusal({"min.compaction.lag.ms": "10"}, TopicConfig()) is None
    assert overrides_refusal({"min.compaction.lag.ms": "10"}, defaults) is not None
