"""Chooses the versions that a schema is compared with, and finds schemas that are equal once they are parsed. Pure.

Called by the rules and the answers. A subject with a setting that this registry does not support accepts no new
version, because the setting might forbid it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from oncelog.schema_registry import contracts, rest_errors
from oncelog.schema_registry.formats.parsed import Dependency
from oncelog.schema_registry.requests import LATEST, Submitted
from oncelog.schema_registry.rest_errors import InvalidSchema
from oncelog.schema_registry.state import AVRO, Content, RegistryState, Version, VersionReference

if TYPE_CHECKING:
    from oncelog.schema_registry.formats.parsed import Parsed

MAX_DEPENDENCIES = 1000
MAX_COMPARED = 500
UNKNOWN_SETTINGS = ("alias", "compatibilityPolicy")
"""Settings of Confluent's registry that change which versions may be registered, and that this registry does not
support."""
EXPANDED = "resolved"
"""The form of an Avro schema in which the schemas that it refers to are inlined."""
ALLOWED = {"compatibilityPolicy": "STRICT"}


class Parses(Protocol):
    """The interface of a parser: parses a schema's text."""

    def parse(self, schema_type: str, text: str, dependencies: Sequence[Dependency] = ()) -> Parsed:
        """Parse the text of a schema.

        :raises InvalidSchema: the text is not a schema.
        """


class Checks:
    """The functions with which the rules examine schemas."""

    def __init__(self, parser: Parses) -> None:
        self._parser = parser
        self._compared: dict[tuple[Parsed, Parsed], list[str]] = {}

    def content(self, state: RegistryState, subject: str, submitted: Submitted) -> tuple[Content, Parsed]:
        """The submitted schema in its stored form, and the parsed schema.

        :raises Refused: it is not a schema, or refers to a missing one.
        """
        if not submitted.schema.strip():
            raise rest_errors.invalid_schema("Empty schema")
        references = tuple(_located(state, reference) for reference in submitted.references)
        try:
            parsed = self._parse(state, submitted.schema_type, submitted.schema, references)
        except InvalidSchema as error:
            raise rest_errors.invalid_schema(str(error)) from error
        text = parsed.normalized() if self.normalizes(state, subject, submitted) else parsed.text
        return Content(submitted.schema_type, text, references, contracts.stored(submitted.contract)), parsed

    @staticmethod
    def normalizes(state: RegistryState, subject: str, submitted: Submitted) -> bool:
        """Whether the request or the subject's setting asks for normalization."""
        return submitted.normalize or state.setting(subject, "normalize") is True

    def check_new(self, parsed: Parsed) -> None:
        """Check a schema that is about to be registered.

        :raises Refused: a new schema must not have this form; a stored schema may.
        """
        try:
            parsed.check_new()
        except InvalidSchema as error:
            raise rest_errors.invalid_schema(str(error)) from error

    def parsed(self, state: RegistryState, content: Content) -> Parsed:
        """Parse a stored schema.

        :raises InvalidSchema: this registry cannot parse the schema.
        """
        return self._parse(state, content.schema_type, content.schema, content.references)

    def problems_reading(self, reader: Parsed, writer: Parsed) -> list[str]:
        """Why data of ``writer`` cannot always be read with ``reader``; cached, because a comparison may take
        seconds."""
        known = self._compared.get((reader, writer))
        if known is None:
            known = reader.problems_reading(writer)
            if len(self._compared) >= MAX_COMPARED:
                self._compared.clear()
            self._compared[reader, writer] = known
        return known

    def _parse(
        self, state: RegistryState, schema_type: str, text: str, references: Sequence[VersionReference]
    ) -> Parsed:
        return self._parser.parse(schema_type, text, dependencies(state, references))


def _located(state: RegistryState, reference: VersionReference) -> VersionReference:
    """The reference with its version's number in place of ``latest``."""
    versions = state.subjects.get(reference.subject, {})
    if reference.version == LATEST:
        live = state.versions(reference.subject)
        if live:
            return reference._replace(version=live[-1].version)
    elif reference.version in versions:
        return reference
    raise rest_errors.invalid_schema(
        f'No schema reference found for subject "{reference.subject}" and version {reference.version}'
    )


def dependencies(state: RegistryState, references: Sequence[VersionReference]) -> tuple[Dependency, ...]:
    """The schemas that the references name directly or indirectly; each schema comes after those that it refers to.

    :raises InvalidSchema: a schema is missing, there are too many, or they refer to each other in a circle.
    """
    found: dict[str, Dependency] = {}
    under_way: set[tuple[str, int]] = set()
    waiting: list[tuple[VersionReference, bool]] = [(one, False) for one in reversed(references)]
    while waiting:
        reference, its_own_are_there = waiting.pop()
        place = (reference.subject, reference.version)
        version = state.subjects.get(reference.subject, {}).get(reference.version)
        if version is None:
            raise InvalidSchema(f'it refers to version {place[1]} of the subject "{place[0]}", which does not exist')
        if its_own_are_there:
            under_way.discard(place)
            found[reference.name] = Dependency(reference.name, version.content.schema)
            continue
        if place in under_way:
            raise InvalidSchema(f'its references form a circle through version {place[1]} of "{place[0]}"')
        if reference.name in found:
            continue
        if len(found) + len(under_way) >= MAX_DEPENDENCIES:
            raise InvalidSchema(f"it refers to more than {MAX_DEPENDENCIES} schemas")
        under_way.add(place)
        waiting.append((reference, True))
        waiting += [(one, False) for one in reversed(version.content.references)]
    return tuple(found.values())


def find_version(
    checks: Checks, state: RegistryState, content: Content, versions: Sequence[Version], *, normalized: bool = False
) -> Version | None:
    """The latest of ``versions`` with this content. A text that another registry formatted differently is parsed before
    it is compared.

    An Avro schema may be sent as clients parse it, with the referenced schemas inlined.

    :param normalized: the content is normalized, so the versions are normalized, too, before the comparison.
    """
    for version in reversed(versions):
        if version.content == content:
            return version
    for version in reversed(versions):
        other = version.content
        if other.schema_type != content.schema_type or not contracts.equal(content.extra, other.extra, version.version):
            continue
        is_expanded = content.schema_type == AVRO and bool(other.references) and not content.references
        if other.references != content.references and not is_expanded:
            continue
        try:
            parsed = checks.parsed(state, other)
            text = parsed.formatted(EXPANDED) if is_expanded else parsed.text
            if content.schema == text or (normalized and content.schema == parsed.normalized()):
                return version
        except InvalidSchema:  # a stored schema with an invalid default equals no valid schema
            continue
    return None


def problems(
    state: RegistryState, checks: Checks, subject: str, parsed: Parsed, content: Content, live: Sequence[Version]
) -> list[str]:
    """Why the schema may not follow these versions of the subject; empty if it may."""
    _check_settings(state, subject)
    level = state.level(subject)
    if level == "NONE" or not live:
        return []
    if level not in rest_errors.LEVELS:  # another registry program wrote this level
        raise rest_errors.not_permitted(f"the configuration of subject {subject} has the compatibility level {level!r}")
    group = state.setting(subject, "compatibilityGroup")
    if group is not None:
        live = [one for one in live if one.content.properties().get(group) == content.properties().get(group)]
    direction, _, transitive = level.partition("_")
    found: list[str] = []
    for version in reversed(live if transitive else live[-1:]):
        found = _compared(state, checks, direction, parsed, content, version)
        if found:
            return [
                *found,
                f"{{oldSchemaVersion: {version.version}}}",
                f"{{oldSchema: '{version.content.schema}'}}",
                f"{{compatibility: '{level}'}}",
            ]
    return found


def _check_settings(state: RegistryState, subject: str) -> None:
    for name in UNKNOWN_SETTINGS:
        value = state.setting(subject, name)
        if value is not None and value != ALLOWED.get(name):
            raise rest_errors.not_permitted(
                f"the configuration of subject {subject} has {name}, which this registry does not support"
            )


def _compared(
    state: RegistryState, checks: Checks, direction: str, parsed: Parsed, content: Content, earlier: Version
) -> list[str]:
    if earlier.content.schema_type != content.schema_type:
        return [
            "{errorType:'SCHEMA_TYPE_CHANGED', description:'Incompatible because of different schema type: "
            f"{content.schema_type} after {earlier.content.schema_type}'}}"
        ]
    try:
        before = checks.parsed(state, earlier.content)
    except InvalidSchema as error:
        return [f"{{errorType:'EARLIER_SCHEMA_INVALID', description:'version {earlier.version}: {error}'}}"]
    found = checks.problems_reading(parsed, before) if direction in ("BACKWARD", "FULL") else []
    if direction in ("FORWARD", "FULL"):
        found = found + checks.problems_reading(before, parsed)
    return found
