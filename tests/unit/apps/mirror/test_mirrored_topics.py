"""The target stores every record with the timestamp that the source has."""

from __future__ import annotations

import pytest

from oncelog.apps.mirror.mirrored_topics import keeps_timestamps

AFTER, BEFORE, TYPE = "message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type"
NO_LIMIT = str(2**63 - 1)


@pytest.mark.parametrize(
    ("source", "target", "changes"),
    [
        ({TYPE: "LogAppendTime"}, {TYPE: "CreateTime"}, {}),
        ({TYPE: "CreateTime"}, {TYPE: "LogAppendTime"}, {TYPE: "CreateTime"}),
        ({AFTER: "10"}, {TYPE: "CreateTime", AFTER: "9"}, {AFTER: "10"}),
        ({AFTER: "10"}, {TYPE: "CreateTime", AFTER: "11"}, {}),
        ({}, {TYPE: "CreateTime", AFTER: "3600000", BEFORE: NO_LIMIT}, {AFTER: NO_LIMIT}),
        ({AFTER: "10", BEFORE: "10"}, {TYPE: "CreateTime"}, {}),
    ],
)
def test_size_limits_of_a_mirrored_topic_are_at_least_those_of_the_source(
    source: dict[str, str], target: dict[str, str], changes: dict[str, str]
) -> None:
    assert keeps_timestamps(source, target) == changes
