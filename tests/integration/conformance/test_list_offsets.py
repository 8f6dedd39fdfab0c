"""ListOffsets after DeleteRecords, on Apache Kafka and on our broker."""

from __future__ import annotations

import pytest

from oncelog.apps.conformance.checks.log_offsets import delete_records
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import MAX_TIMESTAMP, RawConnection

START_MS = 1_700_000_000_000


@pytest.mark.parametrize("batches", [[[100, 0, 50]], [[100], [0], [50]]], ids=["one-batch", "three-batches"])
def test_list_offsets_may_return_a_deleted_record_for_the_largest_timestamp(
    connection: RawConnection, topic: str, batches: list[list[int]]
) -> None:
    """Kafka searches the segments, which hold it still, and does not look at the log start offset."""

    def found(timestamp: int) -> tuple[int, int, int, int]:
        answer = connection.list_offset(topic, timestamp)
        return answer.error_code, answer.offset, answer.timestamp, answer.leader_epoch

    for times in batches:
        connection.produce(topic, batch(*[b"x"] * len(times), timestamps=[START_MS + time for time in times]))
    assert delete_records(connection, topic, 1) == (0, 1)
    assert found(MAX_TIMESTAMP) == (0, 0, START_MS + 100, 0)
    assert found(START_MS) == (0, 1, START_MS, 0)
    assert found(START_MS + 51) == (0, -1, -1, -1)
    connection.produce(topic, batch(b"x", timestamp=START_MS + 100))
    assert found(MAX_TIMESTAMP) == (0, 0, START_MS + 100, 0)
    assert found(START_MS + 51) == (0, 3, START_MS + 100, 0)
