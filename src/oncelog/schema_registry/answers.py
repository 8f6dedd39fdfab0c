"""The registry's answers to queries, computed from the state alone. Pure. Called by the routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from oncelog.schema_registry import contracts, rest_errors
from oncelog.schema_registry.compatibility import Checks, find_version, problems
from oncelog.schema_registry.formats.parsing import MODULES
from oncelog.schema_registry.requests import LATEST, Submitted
from oncelog.schema_registry.rest_errors import InvalidSchema, Refused
from oncelog.schema_registry.rules import check_subject
from oncelog.schema_registry.state import Content, RegistryState, Version


def subjects(state: RegistryState, prefix: str, *, deleted: bool, deleted_only: bool) -> list[str]:
    """The subjects that begin with ``prefix``, sorted."""
    found = []
    for name in sorted(state.subjects):
        if name.startswith(prefix):
            live = bool(state.versions(name))
            if (not live) if deleted_only else (live or deleted):
                found.append(name)
    return found


def versions(state: RegistryState, subject: str, *, deleted: bool, deleted_only: bool) -> list[int]:
    """The numbers of a subject's versions."""
    every = state.versions(subject, deleted=deleted or deleted_only)
    if not every:
        raise rest_errors.subject_not_found(subject)
    return [one.version for one in every if one.deleted or not deleted_only]


def version(state: RegistryState, subject: str, number: int, *, deleted: bool) -> Version:
    """A version of a subject by its number; the latest version for ``LATEST``."""
    every = state.versions(subject, deleted=deleted)
    if not every:
        raise rest_errors.subject_not_found(subject)
    if number == LATEST:
        return every[-1]
    for one in every:
        if one.version == number:
            return one
    raise rest_errors.version_not_found(number)


def with_metadata(state: RegistryState, subject: str, wanted: Mapping[str, str], *, deleted: bool) -> Version:
    """The latest version whose metadata has all the properties in ``wanted``."""
    every = state.versions(subject, deleted=deleted)
    if not every:
        raise rest_errors.subject_not_found(subject)
    for one in reversed(every):
        properties = one.content.properties()
        if all(properties.get(name) == value for name, value in wanted.items()):
            return one
    raise rest_errors.schema_not_found()


def shown(state: RegistryState, checks: Checks, found: Version, form: str) -> dict[str, Any]:
    """The JSON object that describes a version in answers."""
    content = found.content._replace(schema=text(state, checks, found.content, form))
    named = {"subject": found.subject, "version": found.version, "id": found.id, "guid": found.content.guid}
    return named | content.shown()


def text(state: RegistryState, checks: Checks, content: Content, form: str) -> str:
    """A schema's text as it is stored, or in the form that ``form`` names."""
    if not form:
        return content.schema
    try:
        return checks.parsed(state, content).formatted(form)
    except InvalidSchema as error:
        raise rest_errors.invalid_schema(str(error)) from error


def by_id(state: RegistryState, schema_id: int) -> Content:
    """The schema with this id, even if all its versions are soft-deleted: topics may still contain records with the
    id."""
    content = state.contents.get(schema_id)
    if content is None:
        raise rest_errors.schema_not_found(schema_id)
    return content


def by_guid(state: RegistryState, guid: str) -> int:
    """The id of the schema with this GUID, which may be written with or without hyphens."""
    try:
        return state.guids[str(UUID(guid))]
    except (KeyError, ValueError):
        raise rest_errors.schema_not_found(guid) from None


def places(state: RegistryState, schema_id: int, *, deleted: bool) -> list[tuple[str, int]]:
    """The subjects and versions that a schema id is registered for."""
    if schema_id not in state.contents:
        raise rest_errors.schema_not_found()
    every = list(state.places.get(schema_id, {}))
    return [(name, number) for name, number in every if deleted or not state.subjects[name][number].deleted]


def lookup(state: RegistryState, checks: Checks, subject: str, submitted: Submitted, *, deleted: bool) -> Version:
    """The version of a subject that has this schema."""
    check_subject(subject)
    every = state.versions(subject, deleted=deleted)
    if not every:
        raise rest_errors.subject_not_found(subject)
    content, _ = checks.content(state, subject, submitted)
    normalized = checks.normalizes(state, subject, submitted)
    inherited = state.inherited_contract(subject, submitted.contract)
    for extra in dict.fromkeys((content.extra, contracts.stored(inherited))):
        found = find_version(checks, state, content._replace(extra=extra), every, normalized=normalized)
        if found is not None:
            return found
    raise rest_errors.schema_not_found()


def check(
    state: RegistryState, checks: Checks, subject: str, submitted: Submitted, number: int | None, *, verbose: bool
) -> dict[str, Any]:
    """Whether a schema may follow the version ``number`` of a subject; if that is None, all versions with which a
    registration would compare it."""
    check_subject(subject)
    live = state.versions(subject)
    if number is not None:
        live = [one for one in live if number in (one.version, LATEST)][-1:]
        if not live and number != LATEST:
            raise rest_errors.version_not_found(number)
    try:
        content, parsed = checks.content(state, subject, submitted)
        if find_version(checks, state, content, state.versions(subject)) is None:
            checks.check_new(parsed)
        why = problems(state, checks, subject, parsed, content, live)
    except Refused as error:
        if not verbose or error.code != 42201:
            raise
        why = [str(error)]
    return {"is_compatible": not why, "messages": why} if verbose else {"is_compatible": not why}


def config(state: RegistryState, subject: str | None, *, default: bool) -> dict[str, Any]:
    """The configuration of a subject, or the global one if ``subject`` is None."""
    own = state.configs.get(subject)
    if own is None and subject is not None and not default:
        raise rest_errors.no_level_of_its_own(subject)
    found = {**state.configs.get(None, {}), **(own or {}), "compatibilityLevel": state.level(subject)}
    if own is not None and subject is not None and not default:
        found = dict(own)
    found.pop("subject", None)
    return found


def mode(state: RegistryState, subject: str | None, *, default: bool) -> dict[str, Any]:
    """The mode of a subject, or the global one if ``subject`` is None."""
    if subject is not None and subject not in state.modes and not default:
        raise rest_errors.no_mode_of_its_own(subject)
    return {"mode": state.mode(subject) if default or subject is None else state.modes[subject]}


def types() -> list[str]:
    """The types of schemas, as Confluent's registry lists them."""
    return sorted(MODULES, key=lambda name: ("JSON", "PROTOBUF", "AVRO").index(name))
