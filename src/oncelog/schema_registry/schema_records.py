"""Keys and values of the registry's topic, as Confluent's registry writes them. Pure.

Called by the log and the rules.

Keys are JSON with a ``keytype``. The order of their fields matters: compaction compares bytes. A record of an unknown
kind is ignored, as in Confluent's registry. The value of a NOOP record, which Confluent's registry ignores, tells the
other oncelog registries which one writes, and stores the highest id ever assigned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json

SCHEMA = "SCHEMA"
CONFIG = "CONFIG"
MODE = "MODE"
DELETE_SUBJECT = "DELETE_SUBJECT"
CLEAR_SUBJECT = "CLEAR_SUBJECT"
NOOP = "NOOP"

KNOWN = (SCHEMA, CONFIG, MODE, DELETE_SUBJECT, CLEAR_SUBJECT, NOOP)


class DamagedRecord(OncelogError):
    """A record of the registry's topic that is not JSON, or lacks a field of its kind."""


MAX_NUMBER = 2**31 - 1
"""The highest id and the highest version: a record's framing has four bytes for an id."""


class Key(NamedTuple):
    """The key of a record; ``subject`` is None for global settings, and ``version`` is None for every kind except
    SCHEMA."""

    kind: str
    subject: str | None = None
    version: int | None = None


Value = dict[str, Any]
Write = tuple[Key, Value | None]
"""A record to write: its key, and its value or None, which deletes the key's value."""


def encode_key(key: Key) -> bytes:
    """A key as bytes, which compaction compares."""
    if key.kind == SCHEMA:
        return compact({"keytype": SCHEMA, "subject": key.subject, "version": key.version, "magic": 1})
    if key.subject is None:
        return compact({"keytype": key.kind, "magic": 0})
    return compact({"keytype": key.kind, "subject": key.subject, "magic": 0})


def encode_value(value: Mapping[str, Any] | None) -> bytes | None:
    return None if value is None else compact(value)


def decode_key(data: bytes | None) -> Key | None:
    """The key of a record; None for an unknown kind.

    :raises DamagedRecord: the bytes are not a registry's key.
    """
    found = _object(data, "key")
    kind = found.get("keytype")
    if kind not in KNOWN:
        return None
    subject, version = found.get("subject"), found.get("version")
    if kind == SCHEMA and not (isinstance(subject, str) and type(version) is int and 0 < version <= MAX_NUMBER):
        raise DamagedRecord(f"a record of _schemas has the key {data!r}, which names no subject and version")
    return Key(kind, subject if isinstance(subject, str) else None, version if isinstance(version, int) else None)


def decode_value(data: bytes | None) -> Value | None:
    """Decode the value of a record; None stands for a deletion.

    :raises DamagedRecord: the value is not a JSON object.
    """
    return None if data is None else _object(data, "value")


def _object(data: bytes | None, what: str) -> Value:
    try:
        found = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise DamagedRecord(f"a record of _schemas has a {what} that is not JSON: {(data or b'')[:100]!r}") from error
    if not isinstance(found, dict):
        raise DamagedRecord(f"a record of _schemas has a {what} that is not a JSON object: {(data or b'')[:100]!r}")
    return found


def compact(value: object) -> bytes:
    """JSON without spaces. A lone surrogate, which JSON allows and UTF-8 does not, stays escaped."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def announcement(url: str, highest_id: int) -> Write:
    """The record that names the writer and the highest id assigned so far."""
    return Key(NOOP), {"oncelog": {"url": url, "highestId": highest_id}}


def without_url(key: Key, value: Value | None) -> Value | None:
    """An announcement's value without the writer's address, but with the highest id. Other values are unchanged."""
    announced = value.get("oncelog") if value is not None and key.kind == NOOP else None
    if not isinstance(announced, dict) or "url" not in announced:
        return value
    return {"oncelog": {name: one for name, one in announced.items() if name != "url"}}
