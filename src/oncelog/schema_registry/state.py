"""The registry's state, built by applying the records of its topic in order. Pure. Called by the rules, the answers
and the log.

Invariants
- Only :meth:`RegistryState.apply` changes the state that answers show, at a start and after a write alike;
  :meth:`RegistryState.note` only raises ``highest_id``.
- An id means one schema, whatever the log contains: a record that assigns the id to another schema is ignored, as in
  Confluent's registry.
- ``highest_id`` never decreases, so an id is never reused, even after every version with it was deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeGuard
from uuid import UUID

from oncelog.runtime import real_json as json
from oncelog.schema_registry import contracts
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.schema_records import (
    CLEAR_SUBJECT,
    CONFIG,
    DELETE_SUBJECT,
    MAX_NUMBER,
    MODE,
    NOOP,
    SCHEMA,
    DamagedRecord,
    Key,
    Value,
    compact,
)

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"
DEFAULT_LEVEL = "BACKWARD"
DEFAULT_MODE = "READWRITE"


class VersionReference(NamedTuple):
    """A reference: another subject's version, and the name by which the schema refers to it."""

    name: str
    subject: str
    version: int

    def shown(self) -> Value:
        return {"name": self.name, "subject": self.subject, "version": self.version}


class Content(NamedTuple):
    """The schema of an id. ``extra`` is the JSON of its metadata and rules."""

    schema_type: str
    schema: str
    references: tuple[VersionReference, ...] = ()
    extra: str = ""

    def shown(self) -> Value:
        """The schema as a JSON object, as in answers and records."""
        found: Value = {}
        if self.schema_type != AVRO:
            found["schemaType"] = self.schema_type
        if self.references:
            found["references"] = [reference.shown() for reference in self.references]
        if self.extra:
            found |= json.loads(self.extra)
        found["schema"] = self.schema
        return found

    def properties(self) -> Mapping[str, Any]:
        """The properties in the schema's metadata, by which clients find a version."""
        metadata = json.loads(self.extra).get("metadata") if self.extra else None
        properties = metadata.get("properties") if isinstance(metadata, dict) else None
        return properties if isinstance(properties, dict) else {}

    @property
    def guid(self) -> str:
        """The GUID, which identifies the schema in every registry; computed as in Confluent's registry
        (``Schema.updateHash``)."""
        digest = hashlib.md5(self.schema.encode(errors="surrogatepass"), usedforsecurity=False)
        for one in self.references:
            digest.update(
                f"{one.name}{one.subject}".encode(errors="surrogatepass") + one.version.to_bytes(4, signed=True)
            )
        extra = json.loads(self.extra) if self.extra else {}
        for name, parts in (("metadata", _METADATA_PARTS), ("ruleSet", _RULE_SET_PARTS)):
            if extra.get(name) is not None:
                digest.update(b"\1" + b"".join(_hashed(extra[name], parts)))
        return str(UUID(bytes=digest.digest()))


_METADATA_PARTS = ("tags", "properties", "sensitive")
_RULE_SET_PARTS = ("migrationRules", "domainRules", "encodingRules", "enableAt")
_RULE_PARTS = ("name", "doc", "kind", "mode", "type", "tags", "params", "expr", "onSuccess", "onFailure", "disabled")


def _hashed(value: Any, parts: tuple[str, ...] = _RULE_PARTS) -> Iterator[bytes]:
    """The bytes that a GUID is computed from: metadata sorted by name, rules in a fixed order of fields."""
    if isinstance(value, Mapping):
        for name in parts if parts else sorted(value):
            if value.get(name) is not None:
                yield from [] if parts else [name.encode()]
                yield from _hashed(value[name], _RULE_PARTS if name.endswith("Rules") else ())
    elif isinstance(value, list):
        rules = any(isinstance(one, Mapping) for one in value)
        for one in value if rules else sorted(set(value)):
            yield from _hashed(one, _RULE_PARTS)
    elif value is True:
        yield b"\1"
    elif isinstance(value, str):
        yield value.encode(errors="surrogatepass")


class Version(NamedTuple):
    """A registered version of a subject."""

    subject: str
    version: int
    id: int
    content: Content
    deleted: bool

    def record(self) -> tuple[Key, Value]:
        """The record in the registry's topic that stores this version."""
        value = {"subject": self.subject, "version": self.version, "id": self.id, **self.content.shown()}
        return Key(SCHEMA, self.subject, self.version), {**value, "deleted": self.deleted}


@dataclass(slots=True)
class RegistryState:
    """The state from which all answers are computed."""

    subjects: dict[str, dict[int, Version]] = field(default_factory=dict)
    """Each subject's versions in ascending order, soft-deleted ones included."""
    contents: dict[int, Content] = field(default_factory=dict)
    places: dict[int, dict[tuple[str, int], None]] = field(default_factory=dict)
    """By schema id: the subjects and versions that have it, in the order of their registration."""
    ids: dict[Content, int] = field(default_factory=dict)
    guids: dict[str, int] = field(default_factory=dict)
    """The id of each GUID; contexts of Confluent's registry, each of which has its own ids, are not distinguished."""
    referrers: dict[tuple[str, int], dict[tuple[str, int], None]] = field(default_factory=dict)
    """For a subject's version, the versions whose schemas refer to it."""
    configs: dict[str | None, Value] = field(default_factory=dict)
    modes: dict[str | None, str] = field(default_factory=dict)
    highest_id: int = 0
    writer: str | None = None
    """The URL of the registry that last announced itself as the writer."""

    def versions(self, subject: str, *, deleted: bool = False) -> list[Version]:
        """A subject's versions in ascending order."""
        found = list(self.subjects.get(subject, {}).values())
        return found if deleted else [version for version in found if not version.deleted]

    def level(self, subject: str | None) -> str:
        """The compatibility level that applies to a subject."""
        own = self.configs.get(subject, {}).get("compatibilityLevel")
        return str(own or self.configs.get(None, {}).get("compatibilityLevel") or DEFAULT_LEVEL)

    def mode(self, subject: str | None) -> str:
        """The mode that applies to a subject. A global READONLY_OVERRIDE takes precedence over the subject's own
        mode."""
        everywhere = self.modes.get(None, DEFAULT_MODE)
        return everywhere if everywhere == "READONLY_OVERRIDE" else self.modes.get(subject, everywhere)

    def setting(self, subject: str, name: str) -> Any:
        """A setting that applies to a subject: its own one, otherwise the global one."""
        own = self.configs.get(subject, {}).get(name)
        return own if own is not None else self.configs.get(None, {}).get(name)

    def contract_setting(self, subject: str, name: str) -> Any:
        """A default or an override of metadata or rules. The global ones apply only to a subject without any
        configuration of its own."""
        return self.configs.get(subject, self.configs.get(None, {})).get(name)

    def inherited_contract(self, subject: str, given: contracts.Contract) -> contracts.Contract:
        """The contract that a new version of the subject gets if the request has the contract ``given``."""
        live = self.versions(subject)
        previous = live[-1].content.extra if live else ""
        return contracts.inherited(given, previous, partial(self.contract_setting, subject))

    def referring(self, subject: str, version: int, *, deleted: bool) -> list[Version]:
        """The versions whose schemas refer to this version."""
        places = list(self.referrers.get((subject, version), {}))
        found = [self.subjects[name][number] for name, number in places]
        return [one for one in found if deleted or not one.deleted]

    # --- the fold

    def apply(self, key: Key, value: Value | None) -> None:
        """Apply the next record.

        :raises DamagedRecord: a field of its kind is missing; the state is unchanged.
        """
        try:
            self._apply(key, value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedRecord(f"the record of _schemas with key {key} has a value that no registry wrote") from error

    def note(self, key: Key, value: Value | None) -> None:
        """Note an aborted record: a client may have seen its id, so the id is not reused."""
        if key.kind == SCHEMA and value is not None and _is_id(value.get("id")):
            self.highest_id = max(self.highest_id, value["id"])

    def _apply(self, key: Key, value: Value | None) -> None:
        match key.kind:
            case "SCHEMA":
                self._put(key, value)
            case "CONFIG":
                _put_or_drop(self.configs, key.subject, None if value is None else _config(value))
            case "MODE":
                _put_or_drop(self.modes, key.subject, None if value is None else str(value["mode"]))
            case "DELETE_SUBJECT" if value is not None:
                self._delete_subject(str(value["subject"]), int(value["version"]))
            case "CLEAR_SUBJECT" if value is not None:
                self._clear(value.get("subject"))
            case "NOOP" if value is not None and "oncelog" in value:
                url, highest = value["oncelog"].get("url"), value["oncelog"]["highestId"]
                if not _is_id(highest):
                    raise ValueError("highestId")
                self.writer, self.highest_id = url or self.writer, max(self.highest_id, highest)

    def _put(self, key: Key, value: Value | None) -> None:
        subject, number = str(key.subject), int(key.version or 0)
        version = None if value is None else _version(subject, number, value)
        if version is not None:
            self.highest_id = max(self.highest_id, version.id)
            there = self.contents.get(version.id)
            if there is not None and there.schema != version.content.schema:
                return
        self._remove(subject, number)
        if version is not None:
            self._add(version)

    def _add(self, version: Version) -> None:
        subject, number = version.subject, version.version
        numbers = self.subjects.setdefault(subject, {})
        late = bool(numbers) and number < next(reversed(numbers))
        numbers[number] = version
        if late:
            self.subjects[subject] = dict(sorted(numbers.items()))
        self.contents.setdefault(version.id, version.content)
        self.ids.setdefault(version.content, version.id)
        self.guids.setdefault(version.content.guid, version.id)
        self.places.setdefault(version.id, {})[subject, number] = None
        for reference in version.content.references:
            self.referrers.setdefault((reference.subject, reference.version), {})[subject, number] = None

    def _remove(self, subject: str, number: int) -> None:
        numbers = self.subjects.get(subject, {})
        version = numbers.pop(number, None)
        if version is None:
            return
        if not numbers:
            del self.subjects[subject]
        for reference in version.content.references:
            self.referrers.get((reference.subject, reference.version), {}).pop((subject, number), None)
        places = self.places[version.id]
        places.pop((subject, number), None)
        if not places:
            del self.places[version.id]
            content = self.contents.pop(version.id)
            if self.ids.get(content) == version.id:
                del self.ids[content]
            if self.guids.get(content.guid) == version.id:
                del self.guids[content.guid]

    def _delete_subject(self, subject: str, up_to: int) -> None:
        numbers = self.subjects.get(subject, {})
        for number, version in list(numbers.items()):
            if number <= up_to:
                numbers[number] = version._replace(deleted=True)

    def _clear(self, subject: str | None) -> None:
        for name in list(self.subjects) if subject is None else [subject]:
            for version in self.versions(name, deleted=True):
                if version.deleted:
                    self._remove(name, version.version)

    def records(self) -> Iterator[tuple[Key, Value]]:
        """Records that produce this state, as compaction may leave them in the log."""
        for subject, config in self.configs.items():
            yield Key(CONFIG, subject), config
        for subject, mode in self.modes.items():
            yield Key(MODE, subject), {"mode": mode}
        for numbers in self.subjects.values():
            for version in numbers.values():
                yield version.record()

    def value_of(self, key: Key) -> Value | None:
        """The current value of a key; after a takeover it is written again if an aborted record would have changed
        it.
        """
        match key.kind:
            case "SCHEMA":
                version = self.subjects.get(key.subject or "", {}).get(key.version or 0)
                return None if version is None else version.record()[1]
            case "CONFIG":
                return self.configs.get(key.subject)
            case "MODE":
                mode = self.modes.get(key.subject)
                return None if mode is None else {"mode": mode}
            case _:
                return None


def _put_or_drop(table: dict[Any, Any], name: str | None, value: object) -> None:
    if value is None:
        table.pop(name, None)
    else:
        table[name] = value


def _config(value: Value) -> Value:
    if not isinstance(value.get("compatibilityLevel", ""), str):
        raise ValueError("compatibilityLevel")
    return value


def _is_id(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def _contract(value: Mapping[str, Any]) -> str:
    """A version's metadata and rules; kept unchanged even if another registry wrote them in a form that this registry
    does not know.
    """
    kept = {name: value[name] for name in ("metadata", "ruleSet") if value.get(name) is not None}
    try:
        return contracts.stored(contracts.contract_of(kept))
    except Refused:
        return compact(kept).decode()


def _version(subject: str, number: int, value: Mapping[str, Any]) -> Version:
    """Parse the value of a version's record.

    :raises DamagedRecord: a field of the value is missing or has the wrong type.
    """
    schema, schema_id = value.get("schema"), value.get("id")
    if not isinstance(schema, str) or not _is_id(schema_id):
        raise DamagedRecord(f"version {number} of subject {subject!r} in _schemas has no schema or no id")
    listed = value.get("references") or ()
    references = tuple(VersionReference(str(one["name"]), str(one["subject"]), int(one["version"])) for one in listed)
    content = Content(str(value.get("schemaType") or AVRO), schema, references, _contract(value))
    return Version(subject, number, schema_id, content, bool(value.get("deleted")))


__all__ = [
    "AVRO",
    "CLEAR_SUBJECT",
    "CONFIG",
    "DEFAULT_LEVEL",
    "DEFAULT_MODE",
    "DELETE_SUBJECT",
    "JSON",
    "MODE",
    "NOOP",
    "PROTOBUF",
    "SCHEMA",
    "Content",
    "RegistryState",
    "Version",
    "VersionReference",
]
