"""The topic's records as Confluent's registry writes them, and what they fold to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oncelog.schema_registry.schema_records import (
    CONFIG,
    DELETE_SUBJECT,
    MODE,
    NOOP,
    SCHEMA,
    DamagedRecord,
    Key,
    announcement,
    decode_key,
    decode_value,
    encode_key,
    without_url,
)
from oncelog.schema_registry.state import RegistryState, VersionReference


def version(subject: str, number: int, schema_id: int, schema: str = '"int"', **more: Any) -> tuple[Key, Any]:
    value = {"subject": subject, "version": number, "id": schema_id, "schema": schema, "deleted": False, **more}
    return Key(SCHEMA, subject, number), value


def folded(*records: tuple[Key, Any]) -> RegistryState:
    state = RegistryState()
    for key, value in records:
        state.apply(key, value)
    return state


def test_keys_of_the_schemas_topic_equal_confluents_byte_for_byte() -> None:
    written = {
        Key(SCHEMA, "x", 1): b'{"keytype":"SCHEMA","subject":"x","version":1,"magic":1}',
        Key(CONFIG): b'{"keytype":"CONFIG","magic":0}',
        Key(CONFIG, "x"): b'{"keytype":"CONFIG","subject":"x","magic":0}',
        Key(MODE, "x"): b'{"keytype":"MODE","subject":"x","magic":0}',
        Key(DELETE_SUBJECT, "x"): b'{"keytype":"DELETE_SUBJECT","subject":"x","magic":0}',
        Key(NOOP): b'{"keytype":"NOOP","magic":0}',
    }
    for key, data in written.items():
        assert encode_key(key) == data
        assert decode_key(data) == key
    older = b'{"keytype":"CONFIG","subject":null,"magic":0}'
    assert decode_key(older) == Key(CONFIG), "as older registries wrote it"


def test_schema_records_of_unknown_kinds_are_ignored() -> None:
    assert decode_key(b'{"keytype":"CONTEXT","tenant":"default","context":"."}') is None


@pytest.mark.parametrize("data", [None, b"", b"\xff", b"[]", b"1", b'{"keytype":"SCHEMA"}', b"[" * 100_000])
def test_a_schema_record_with_an_invalid_key_is_refused(data: bytes | None) -> None:
    with pytest.raises(DamagedRecord):
        decode_key(data)


def test_a_schema_record_with_an_incomplete_value_changes_nothing() -> None:
    state = folded(version("x", 1, 1))
    for value in ({}, {"schema": 1, "id": 2}, {"schema": "", "id": "2"}, {"schema": "", "id": 2, "references": 5}):
        with pytest.raises(DamagedRecord):
            state.apply(Key(SCHEMA, "x", 2), value)
    with pytest.raises(DamagedRecord):
        state.apply(Key(MODE), {})
    assert list(state.subjects["x"]) == [1]
    with pytest.raises(DamagedRecord):
        decode_value(b"[]")


def test_the_records_written_for_a_registry_state_restore_that_state() -> None:
    references = [{"name": "n", "subject": "x", "version": 1}]
    state = folded(
        version("x", 1, 1),
        version("x", 2, 2, '"string"'),
        version("y", 1, 3, "{}", schemaType="JSON", references=references, metadata={"properties": {"a": "b"}}),
        version("z", 1, 1, deleted=True),
        (Key(CONFIG), {"compatibilityLevel": "FULL"}),
        (Key(CONFIG, "x"), {"subject": "x", "compatibilityLevel": "NONE", "normalize": True}),
        (Key(MODE, "y"), {"subject": "y", "mode": "READONLY"}),
    )
    again = folded(*((key, json.loads(json.dumps(value))) for key, value in state.records()))
    assert again.subjects == state.subjects
    assert again.places == state.places
    assert (again.level("x"), again.level("y"), again.mode("x"), again.mode("y")) == (
        "NONE", "FULL", "READWRITE", "READONLY",
    )  # fmt: skip
    assert state.subjects["y"][1].content.references == (VersionReference("n", "x", 1),)
    assert state.value_of(Key(SCHEMA, "z", 1)) == version("z", 1, 1, deleted=True)[1]


def test_deleting_a_subject_deletes_its_versions_up_to_the_one_in_the_record() -> None:
    state = folded(
        version("x", 1, 1),
        version("x", 2, 2, '"string"'),
        (Key(DELETE_SUBJECT, "x"), {"subject": "x", "version": 1}),
    )
    assert [one.version for one in state.versions("x")] == [2]
    assert [one.version for one in state.versions("x", deleted=True)] == [1, 2]


def test_a_logged_version_that_gives_an_id_to_a_second_schema_is_ignored() -> None:
    state = folded(version("x", 1, 1), version("y", 1, 1, '"string"'))
    assert "y" not in state.subjects
    assert state.contents[1].schema == '"int"'


def test_a_tombstone_removes_a_schema_and_keeps_the_highest_id() -> None:
    state = folded(version("x", 1, 1), version("x", 2, 2, '"string"'), (Key(SCHEMA, "x", 2), None))
    assert 2 not in state.contents
    assert state.highest_id == 2


def test_a_rejected_announcement_still_reports_the_highest_id() -> None:
    key, value = announcement("http://elsewhere", 7)
    state = folded(announcement("http://a", 3), (key, without_url(key, value)))
    assert (state.highest_id, state.writer) == (7, "http://a")
    for other in (None, {}, {"oncelog": 1}, {"oncelog": {"highestId": 1}}):
        assert without_url(key, other) == other


def test_the_highest_id_survives_compaction_in_an_announcement() -> None:
    state = folded(version("x", 1, 1), announcement("http://a", 7))
    assert (state.highest_id, state.writer) == (7, "http://a")
    assert folded((Key(NOOP), None), (Key(NOOP), {})).writer is None, "those of Confluent's registry say nothing"


def test_the_schema_id_of_an_aborted_record_is_not_given_again() -> None:
    state = folded(version("x", 1, 1))
    state.note(*version("x", 2, 5))
    assert state.highest_id == 5
    assert state.value_of(Key(SCHEMA, "x", 2)) is None


def test_schema_versions_that_arrive_late_are_inserted_in_order() -> None:
    state = folded(version("x", 3, 1), version("x", 1, 2, '"string"'))
    assert [one.version for one in state.versions("x")] == [1, 3]


@pytest.mark.parametrize("number", [2**31, 10**30, -1, True])
def test_an_id_or_a_version_out_of_range_is_reported_as_damage(number: int) -> None:
    """One of them would make every later id too high to be framed."""
    with pytest.raises(DamagedRecord):
        folded(version("x", 1, number))
    with pytest.raises(DamagedRecord):
        decode_key(encode_key(Key(SCHEMA, "x", number)))
    state = RegistryState()
    with pytest.raises(DamagedRecord):
        state.apply(*announcement("http://other", number))
    state.note(*version("x", 1, number))
    assert (state.writer, state.highest_id) == (None, 0)
