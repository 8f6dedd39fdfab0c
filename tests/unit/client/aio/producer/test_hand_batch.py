"""Batches that the program fills itself: what cannot be a record is refused, and leaves the batch unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.client.aio.producer.hand_batch import Batch


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"timestamp": 1.5}, "timestamp must be int, not float"),
        ({"timestamp": "now"}, "timestamp must be int, not str"),
        ({"timestamp": 2**63}, "timestamp=9223372036854775808 is out of range"),
        ({"headers": [("\udcff", b"")]}, "a header's name: text that can be encoded in UTF-8 is needed"),
    ],
)
def test_an_invalid_record_is_refused_and_leaves_the_batch_unchanged(record: dict[str, Any], says: str) -> None:
    """Half a millisecond used to be cut off in silence."""
    batch = Batch(1000)
    assert batch.append(value=b"first") == 0
    before = batch.size()
    with pytest.raises((TypeError, ValueError), match=says):
        batch.append(value=b"", **record)
    assert (batch.size(), batch.record_count()) == (before, 1)
