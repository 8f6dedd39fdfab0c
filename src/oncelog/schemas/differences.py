"""Compares two schemas line by line. Pure; called by the command line and the console."""

from __future__ import annotations

import difflib

from oncelog.runtime import real_json as json
from oncelog.schemas.structs import PROTOBUF, RegisteredSchema, Schema


def pretty(schema: Schema) -> str:
    """A schema's text for people: JSON with one member a line."""
    if schema.schema_type == PROTOBUF:
        return schema.text
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.text


def differences(older: RegisteredSchema, newer: RegisteredSchema) -> list[str]:
    """Lines that begin with ``+``, ``-`` or a space; none if the texts are equal."""
    before, after = (pretty(one.schema).splitlines() for one in (older, newer))
    return list(difflib.unified_diff(before, after, _title(older), _title(newer), lineterm="", n=3))


def _title(found: RegisteredSchema) -> str:
    return f"{found.subject} version {found.version} (id {found.schema_id})"
