"""Avro: which schemas read what others have written, as Java's ``SchemaCompatibility`` answers for these pairs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from oncelog.schema_registry.formats.avro import parse


def record(kind: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "name": "R", "fields": list(fields)}


ID, NOTE = {"name": "id", "type": "int"}, {"name": "note", "type": "string"}
PAIRS: list[tuple[str, Any, Any, bool]] = [
    ("an error is a record", record("error", ID), record("record", ID), True),
    ("a record is an error", record("record", ID), record("error", ID, NOTE), True),
    ("an error lacks a default", record("error", ID, NOTE), record("error", ID), False),
    ("an error in a union", ["null", record("error", ID)], ["null", record("error", ID)], True),
]


@pytest.mark.parametrize(("reader", "writer", "reads"), [case[1:] for case in PAIRS], ids=[case[0] for case in PAIRS])
def test_avro_types_error_and_record_are_compared_alike(reader: Any, writer: Any, reads: bool) -> None:
    problems = parse(json.dumps(reader), []).problems_reading(parse(json.dumps(writer), []))
    assert (problems == []) is reads
    assert not any("SCHEMA_NOT_COMPARED" in problem for problem in problems)
