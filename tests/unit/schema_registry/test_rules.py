"""Decisions against a naive model: whatever is asked in whatever order, the invariants of ids and versions hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.schema_registry import rules
from oncelog.schema_registry.compatibility import Checks
from oncelog.schema_registry.formats.parsing import Parser
from oncelog.schema_registry.requests import Submitted
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.rules import SchemaDecision
from oncelog.schema_registry.schema_records import CONFIG, SCHEMA, Key, encode_key, encode_value
from oncelog.schema_registry.state import RegistryState

CHECKS = Checks(Parser())
SUBJECTS = st.sampled_from(["a", "b"])
SCHEMAS = st.sampled_from(['"int"', '"string"', '"boolean"', '["null","int"]'])
PERMANENT = st.booleans()
STEPS = st.one_of(
    st.tuples(st.just("register"), SUBJECTS, SCHEMAS),
    st.tuples(st.just("delete"), SUBJECTS, st.integers(1, 4), PERMANENT),
    st.tuples(st.just("delete_subject"), SUBJECTS, PERMANENT),
    st.tuples(st.just("restart")),
    st.tuples(st.just("aborted"), SUBJECTS, SCHEMAS),
)


class Log:
    """The topic as compaction may leave it at any time, and the state that follows it."""

    def __init__(self) -> None:
        self.state = RegistryState()
        self.compacted: dict[bytes, tuple[Any, Any]] = {}
        self.noted = False

    def take(self, decision: SchemaDecision) -> None:
        for key, value in decision.writes:
            self.state.apply(key, value)
            self.compacted.pop(encode_key(key), None)
            if value is not None:
                self.compacted[encode_key(key)] = (key, json.loads(encode_value(value) or b"null"))

    def restart(self) -> None:
        """Read the topic again after compaction has removed every tombstone."""
        highest = self.state.highest_id
        self.state = RegistryState()
        for key, value in self.compacted.values():
            self.state.apply(key, value)
        assert self.state.highest_id == highest or self.noted, "an id could be given again"


def decided(log: Log, step: Any) -> SchemaDecision | None:
    state = log.state
    try:
        match step:
            case ("register" | "aborted", subject, schema):
                return rules.register(state, CHECKS, subject, Submitted(schema))
            case ("delete", subject, number, permanent):
                version = state.subjects.get(subject, {}).get(number)
                if version is None:
                    return None
                return rules.delete_version(state, subject, version, permanent=permanent, url="http://x")
            case ("delete_subject", subject, permanent):
                return rules.delete_subject(state, subject, permanent=permanent, url="http://x")
    except Refused:
        return None
    return None


@given(st.lists(STEPS, max_size=40))
def test_no_id_means_two_schemas_and_no_schema_has_two_ids_whatever_is_deleted(steps: list[Any]) -> None:
    log = Log()
    log.take(rules.set_config(log.state, None, {"compatibility": "NONE"}))
    given_out: dict[int, str] = {}
    for step in steps:
        if step[0] == "restart":
            log.restart()
            continue
        decision = decided(log, step)
        if decision is None:
            continue
        if step[0] == "aborted":  # its registry was killed before the commit; the next one notes the ids
            for key, value in decision.writes:
                log.state.note(key, value)
                log.noted = True
            continue
        log.take(decision)
        if step[0] == "register":
            schema_id = decision.answer["id"]
            assert given_out.setdefault(schema_id, step[2]) == step[2], "an id means two schemas"
            live = [one for one in log.state.versions(step[1]) if one.content.schema == step[2]]
            assert {one.id for one in live} == {schema_id}
    for numbers in log.state.subjects.values():
        of_texts: dict[str, set[int]] = {}
        for one in numbers.values():
            of_texts.setdefault(one.content.schema, set()).add(one.id)
        assert all(len(ids) == 1 for ids in of_texts.values())


def test_a_registry_decision_does_not_change_the_state() -> None:
    state = RegistryState()
    decision = rules.register(state, CHECKS, "x", Submitted('"int"'))
    assert (state.subjects, state.highest_id, decision.answer["id"]) == ({}, 0, 1)


def test_after_the_highest_id_new_schemas_are_refused_and_known_schemas_are_not() -> None:
    state = RegistryState()
    value = {"subject": "x", "version": 2**31 - 1, "id": 2**31 - 1, "schema": '"int"', "deleted": False}
    state.apply(Key(SCHEMA, "x", 2**31 - 1), value)
    assert rules.register(state, CHECKS, "y", Submitted('"int"')).answer["id"] == 2**31 - 1
    for subject, schema, why in (("y", '"string"', "no id is left"), ("x", '"long"', "no version is left")):
        with pytest.raises(Refused) as refused:
            rules.register(state, CHECKS, subject, Submitted(schema))
        assert (refused.value.status, refused.value.code) == (422, 42205)
        assert why in str(refused.value)


def test_a_compatibility_level_known_only_to_another_registry_refuses_new_versions() -> None:
    state = RegistryState()
    value = {"subject": "x", "version": 1, "id": 1, "schema": '"int"', "deleted": False}
    state.apply(Key(SCHEMA, "x", 1), value)
    state.apply(Key(CONFIG, "x"), {"subject": "x", "compatibilityLevel": "SIDEWAYS"})
    with pytest.raises(Refused, match="SIDEWAYS"):
        rules.register(state, CHECKS, "x", Submitted('"string"'))


def test_text_that_is_not_json_is_reported_as_invalid_json() -> None:
    given = Submitted('{"type": "string", "default": None}')
    with pytest.raises(Refused, match="this is not an Avro schema: its text is not JSON: Expecting value"):
        rules.register(RegistryState(), Checks(Parser()), "x", given)
