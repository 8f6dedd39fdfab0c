"""Records of the coordinators' topics as names and JSON values, as commands and the console show them."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.broker.coordinator.share import state_records
from oncelog.broker.coordinator.share.state_rules import RecordState, ShareKey, StateBatch, Tombstone, Update
from oncelog.broker.coordinator.shown_records import decode_internal_record, transition
from oncelog.broker.coordinator.transaction.records import encode_key, encode_value
from oncelog.broker.coordinator.transaction.states import TransactionState, Txn
from oncelog.protocol.generated.offset_commit_key import OffsetCommitKey
from oncelog.protocol.generated.offset_commit_value import OffsetCommitValue
from oncelog.protocol.internal_records import encode_record_key, encode_record_value
from oncelog.records.record import Record
from oncelog.types import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition

UNKNOWN_TYPE = b"\x03\xe7rest"
"""A record of kind 999, as a later version may write it."""


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(0, 0, key, value, ())


def transaction() -> Txn:
    return Txn(
        "id",
        producer_id=1000,
        producer_epoch=3,
        timeout_ms=60_000,
        state=TransactionState.ONGOING,
        partitions=frozenset({TopicPartition("t", 1)}),
        start_ms=5,
        last_update_ms=7,
    )


@pytest.mark.parametrize("version", [0, 1])
def test_a_transactions_record_is_shown_with_its_states_name(version: int) -> None:
    stored = record(encode_key("id"), encode_value(transaction(), version))
    found = decode_internal_record(TRANSACTION_STATE_TOPIC, stored)
    assert found is not None
    key, value = found
    assert key == {"transactional_id": "id"}
    assert value["state"] == "Ongoing"
    assert (value["producer_id"], value["producer_epoch"]) == (1000, 3)
    assert value["transaction_partitions"] == [{"topic": "t", "partition_ids": [1]}]


def test_an_unknown_state_is_shown_by_its_number() -> None:
    value = bytearray(encode_value(transaction(), 0))
    at = value.index(b"\x00\x00\xea\x60") + 4  # the status follows the timeout of 60000 ms
    value[at] = 99
    found = decode_internal_record(TRANSACTION_STATE_TOPIC, record(encode_key("id"), bytes(value)))
    assert found is not None
    assert found[1]["state"] == 99


def test_an_offset_is_shown_with_the_kind_of_its_record() -> None:
    stored = record(
        encode_record_key(OffsetCommitKey("g", "t", 2)), encode_record_value(OffsetCommitValue(17, metadata="note"), 3)
    )
    found = decode_internal_record(CONSUMER_OFFSETS_TOPIC, stored)
    assert found is not None
    key, value = found
    assert key == {"kind": "OffsetCommit", "group": "g", "topic": "t", "partition": 2}
    assert (value["offset"], value["metadata"]) == (17, "note")


@pytest.mark.parametrize(
    ("topic", "key", "shown"),
    [
        (TRANSACTION_STATE_TOPIC, encode_key("id"), {"transactional_id": "id"}),
        (
            CONSUMER_OFFSETS_TOPIC,
            encode_record_key(OffsetCommitKey("g", "t", 2)),
            {"kind": "OffsetCommit", "group": "g", "topic": "t", "partition": 2},
        ),
    ],
)
def test_a_tombstone_is_shown_without_a_value(topic: str, key: bytes, shown: dict[str, Any]) -> None:
    assert decode_internal_record(topic, record(key, None)) == (shown, None)


@pytest.mark.parametrize("topic", [TRANSACTION_STATE_TOPIC, CONSUMER_OFFSETS_TOPIC])
def test_a_record_of_a_later_version_is_shown_by_its_number(topic: str) -> None:
    found = decode_internal_record(topic, record(UNKNOWN_TYPE, b"v"))
    assert found == ({"unknownType": 999}, "v")


@pytest.mark.parametrize("topic", [TRANSACTION_STATE_TOPIC, CONSUMER_OFFSETS_TOPIC])
def test_bytes_that_are_not_a_coordinator_record_are_shown_unchanged(topic: str) -> None:
    assert decode_internal_record(topic, record(b"", b"v")) is None
    assert decode_internal_record(topic, record(b"\x00\x00", b"v")) is None
    assert decode_internal_record("orders", record(encode_key("id"), None)) is None


def test_the_record_of_a_transition_shows_the_transactional_id_and_the_new_state() -> None:
    assert transition(record(UNKNOWN_TYPE, b"v")) is None
    assert transition(record(encode_key("id"), None)) == ("id", None)
    found = transition(record(encode_key("id"), encode_value(transaction(), 0)))
    assert found is not None and found[1] is not None
    assert (found[0], found[1].state, found[1].producer_epoch) == ("id", TransactionState.ONGOING, 3)


def test_the_state_of_a_share_group_is_shown_with_its_kind_and_the_topic_id_in_kafkas_form() -> None:
    key = ShareKey("g", bytes(range(16)), 2)
    written = state_records.encoded(key, Update(3, 0, 5, 2, (StateBatch(7, 9, RecordState.ACKNOWLEDGED, 1),)))
    found = decode_internal_record(SHARE_GROUP_STATE_TOPIC, record(written.key, written.value))
    assert found is not None
    assert found[0] == {"kind": "ShareUpdate", "group_id": "g", "topic_id": "AAECAwQFBgcICQoLDA0ODw", "partition": 2}
    assert found[1]["start_offset"] == 5
    assert found[1]["state_batches"] == [
        {"first_offset": 7, "last_offset": 9, "delivery_state": 2, "delivery_count": 1}
    ]
    removed = state_records.encoded(key, Tombstone())
    assert decode_internal_record(SHARE_GROUP_STATE_TOPIC, record(removed.key, removed.value)) == (
        {**found[0], "kind": "ShareSnapshot"},
        None,
    )
