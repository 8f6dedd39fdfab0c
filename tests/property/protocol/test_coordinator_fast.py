"""The coordinators' fast encoders write what the generated codec writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oncelog.protocol.coordinator_fast import (
    NO_TOPICS,
    offset_commit_key,
    offset_commit_value,
    transaction_topics,
    transaction_value,
)
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.protocol.generated.transaction_log_key import TransactionLogKey
from oncelog.protocol.generated.transaction_log_value import PartitionsSchema, TransactionLogValue
from oncelog.protocol.internal_records import (
    encode_record_key,
    encode_record_value,
    encode_transaction_key,
    encode_transaction_value,
)

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
NAME = st.one_of(st.text(st.characters(codec="utf-8"), max_size=5), st.integers(120, 300).map("n".__mul__))
TOPICS = st.lists(st.tuples(NAME, st.lists(INT32, max_size=10)), max_size=3)


@given(INT64, INT16, INT32, st.integers(0, 5), st.none() | TOPICS, INT64, INT64, INT64, INT64, INT16)
def test_transaction_values_equal_those_of_the_generated_codec(
    producer_id: int,
    epoch: int,
    timeout_ms: int,
    status: int,
    topics: list[tuple[str, list[int]]] | None,
    updated_ms: int,
    start_ms: int,
    previous: int,
    following: int,
    version: int,
) -> None:
    value = TransactionLogValue(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_timeout_ms=timeout_ms,
        transaction_status=status,
        transaction_partitions=None if topics is None else [PartitionsSchema(*topic) for topic in topics],
        transaction_last_update_timestamp_ms=updated_ms,
        transaction_start_timestamp_ms=start_ms,
        previous_producer_id=previous,
        next_producer_id=following,
        client_transaction_version=version,
    )
    encoded = NO_TOPICS if topics is None else transaction_topics(topics)
    assert transaction_value(
        producer_id, epoch, timeout_ms, status, encoded, updated_ms, start_ms, previous, following, version
    ) == encode_transaction_value(value, 1)


@given(NAME)
def test_transaction_keys_equal_those_of_the_generated_codec(transactional_id: str) -> None:
    assert encode_transaction_key(transactional_id) == b"\0\0" + TransactionLogKey(transactional_id).encode(0)


@given(NAME, NAME, INT32)
def test_offset_keys_equal_those_of_the_generated_codec(group_id: str, topic: str, partition: int) -> None:
    assert offset_commit_key(group_id, topic, partition) == encode_record_key(
        OffsetCommitKey(group_id, topic, partition)
    )


@given(INT64, INT32, NAME, INT64, st.just(bytes(16)) | st.binary(min_size=16, max_size=16))
def test_offset_values_equal_those_of_the_generated_codec(
    offset: int, leader_epoch: int, metadata: str, timestamp_ms: int, topic_id: bytes
) -> None:
    value = OffsetCommitValue(offset, leader_epoch, metadata, timestamp_ms, -1, topic_id)
    written = offset_commit_value(offset, leader_epoch, metadata, timestamp_ms, topic_id)
    assert written == encode_record_value(value, 4)
