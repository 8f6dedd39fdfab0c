"""A schema registry: an id means one schema for ever, a schema has one id in a subject as long as it is there, what was
registered is there, and what was deleted for good is not.

Not even a reader of aborted records, as Confluent's registry is, finds an id that means two schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.simulation.history import History, Stored


class _Version(NamedTuple):
    subject: str
    version: int
    id: int
    schema: str


def check(history: History) -> Sequence[str]:
    if not history.registered:
        return []
    return [*_two_meanings(history), *_two_ids(history), *_not_there(history)]


def _two_meanings(history: History) -> Iterator[str]:
    means: dict[int, str] = {}
    printed = [(one.schema, one.id) for one in history.registered] + history.looked_up
    stored = [one for record in history.stored_schemas if (one := _version(record)) is not None]
    for schema, given in [*printed, *((one.schema, one.id) for one in stored)]:
        if means.setdefault(given, schema) != schema:
            yield f"id {given} means {means[given]} and {schema}"


def _two_ids(history: History) -> Iterator[str]:
    ids: dict[tuple[str, str], int] = {}
    for one in history.registered:
        if ids.setdefault((one.subject, one.schema), one.id) != one.id:
            yield f"{one.schema} has the ids {ids[one.subject, one.schema]} and {one.id} in {one.subject}"


def _not_there(history: History) -> Iterator[str]:
    there = {(one.subject, one.schema, one.id) for one in _left(history)}
    for one in history.registered:
        is_there = tuple(one) in there
        if not is_there and one.subject not in history.deleted:
            yield f"{one.schema} was registered in {one.subject} as {one.id}, and is not there"
        if is_there and history.deleted.get(one.subject):
            yield f"{one.schema} was deleted from {one.subject} for good, and is there with id {one.id}"


def _left(history: History) -> list[_Version]:
    """The versions that a naive reader of the committed topic finds."""
    newest: dict[bytes, Stored] = {record.key: record for record in history.committed_schemas}
    return [one for record in newest.values() if (one := _version(record)) is not None]


def _version(record: Stored) -> _Version | None:
    key: dict[str, Any] = json.loads(record.key)
    if key["keytype"] != "SCHEMA" or record.value is None:
        return None
    value = json.loads(record.value)
    return _Version(key["subject"], key["version"], value["id"], value["schema"])
