"""Records of ``__transaction_state``. The bytes were written by Apache Kafka 4.3.1, or follow KIP-98 and KIP-890."""

from __future__ import annotations

import struct

import pytest

from oncelog.broker.coordinator.transaction.records import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    value_version,
)
from oncelog.broker.coordinator.transaction.states import MAY_FOLLOW, TransactionState, Txn
from oncelog.errors import CorruptLogError
from oncelog.types import TopicPartition

FROM_KAFKA = (
    b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\xea`\x00\x00\x00\x00\x01\xa1\xfd\xd9 '"
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x08\x00\x00\x00\x00\x00\x00\x00\x07"
)
"""The first record of an id whose producer id is 7."""

PREPARED = Txn(
    "id",
    producer_id=7,
    producer_epoch=32767,
    timeout_ms=60_000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({TopicPartition("b", 1), TopicPartition("a", 2), TopicPartition("a", 0)}),
    start_ms=1_000,
    last_update_ms=2_000,
    previous_producer_id=7,
    next_producer_id=9,
    client_transaction_version=2,
)


def test_a_transaction_key_has_type_zero_and_the_id() -> None:
    assert encode_key("exp") == b"\x00\x00\x00\x03exp"
    assert decode_key(b"\x00\x00\x00\x03exp") == "exp"


def test_a_record_key_of_an_unknown_type_is_ignored() -> None:
    assert decode_key(b"\x00\x05whatever") is None


def test_the_first_record_of_a_transactional_id_equals_kafkas() -> None:
    first = Txn("exp", 7, 0, 60_000, last_update_ms=0x01A1FDD92027, previous_producer_id=7)
    assert encode_value(first, 1) == FROM_KAFKA
    assert decode_value("exp", FROM_KAFKA) == first


def test_a_record_with_all_fields_has_sorted_partitions_and_tags_in_order() -> None:
    topic_a = b"\x02a\x03" + struct.pack(">ii", 0, 2) + b"\x00"
    topic_b = b"\x02b\x02" + struct.pack(">i", 1) + b"\x00"
    tags = b"\x03\x00\x08" + struct.pack(">q", 7) + b"\x01\x08" + struct.pack(">q", 9) + b"\x02\x02\x00\x02"
    expected = (
        struct.pack(">hqhib", 1, 7, 32767, 60_000, 2) + b"\x03" + topic_a + topic_b + struct.pack(">qq", 2_000, 1_000)
    )
    assert encode_value(PREPARED, 1) == expected + tags
    assert decode_value("id", expected + tags) == PREPARED


def test_version_0_has_no_tagged_fields_and_drops_their_values() -> None:
    first = Txn("id", 7, 0, 60_000, last_update_ms=5, previous_producer_id=7, client_transaction_version=2)
    data = encode_value(first, 0)
    assert data == struct.pack(">hqhibiqq", 0, 7, 0, 60_000, 0, -1, 5, -1)
    read = decode_value("id", data)
    assert (read.previous_producer_id, read.next_producer_id, read.client_transaction_version) == (-1, -1, 0)


def test_a_completed_transaction_has_an_empty_partition_list_instead_of_null() -> None:
    done = Txn("id", 7, 1, 60_000, TransactionState.COMPLETE_ABORT, start_ms=1, last_update_ms=2)
    assert encode_value(done, 1)[17] == 1
    assert struct.unpack_from(">i", encode_value(done, 0), 17)[0] == 0


@pytest.mark.parametrize(("transaction_version", "expected"), [(0, 0), (1, 1), (2, 1)])
def test_the_record_version_follows_the_transaction_version(transaction_version: int, expected: int) -> None:
    assert value_version(transaction_version) == expected


@pytest.mark.parametrize("status", [6, 7, 8, -1])
def test_a_record_with_a_state_that_is_never_logged_is_refused(status: int) -> None:
    data = bytearray(FROM_KAFKA)
    data[16:17] = struct.pack(">b", status)
    with pytest.raises(CorruptLogError, match=rf"'exp' is in state {status} "):
        decode_value("exp", bytes(data))


def test_the_last_producer_epoch_is_not_stored() -> None:
    txn = Txn("id", 7, 4, 1, last_producer_epoch=3, last_update_ms=0)
    assert decode_value("id", encode_value(txn, 1)).last_producer_epoch == -1


def test_states_have_kafkas_ids_and_names() -> None:
    assert [(state.value, state.label) for state in TransactionState] == [
        (0, "Empty"),
        (1, "Ongoing"),
        (2, "PrepareCommit"),
        (3, "PrepareAbort"),
        (4, "CompleteCommit"),
        (5, "CompleteAbort"),
        (6, "Dead"),
        (7, "PrepareEpochFence"),
    ]
    assert TransactionState.from_label("CompleteAbort") is TransactionState.COMPLETE_ABORT
    assert TransactionState.from_label("completeabort") is None
    assert set(MAY_FOLLOW) == set(TransactionState)
