"""Decides on changes: the records to write and the answer, or a refusal. Pure. Called by the service.

A rule changes nothing. The records of one decision are written in one transaction, and :meth:`RegistryState.apply`
applies them once they are stored. The codes of refusals, and their order, are those of Confluent's registry.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

from oncelog.schema_registry import contracts, rest_errors
from oncelog.schema_registry.compatibility import ALLOWED, Checks, find_version, problems
from oncelog.schema_registry.requests import Submitted
from oncelog.schema_registry.rest_errors import LEVELS, MODES
from oncelog.schema_registry.schema_records import CONFIG, MAX_NUMBER, MODE, SCHEMA, Key, Write, announcement
from oncelog.schema_registry.state import Content, RegistryState, Version

READ_ONLY = ("READONLY", "READONLY_OVERRIDE")
LONGEST_SUBJECT = 512
CONTRACT_SETTINGS = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")


class SchemaDecision(NamedTuple):
    """The records to write (none if nothing changes), and the answer."""

    writes: list[Write]
    answer: Any


def check_subject(subject: str) -> None:
    """Check the name of a subject.

    :raises Refused: the name contains a context, which this registry does not support, or is not valid.
    """
    if subject.startswith((":.", ":*:")):
        raise rest_errors.invalid_subject(subject, "this registry has no contexts; leave out the part ':.name:'")
    if not 0 < len(subject) <= LONGEST_SUBJECT or any(unicodedata.category(one) == "Cc" for one in subject):
        raise rest_errors.invalid_subject(
            subject[:80], f"a name has 1 to {LONGEST_SUBJECT} characters, and none that controls a terminal"
        )
    if subject in ("__GLOBAL", "__EMPTY"):
        raise rest_errors.invalid_subject(subject, "the name is reserved")


def register(state: RegistryState, checks: Checks, subject: str, submitted: Submitted) -> SchemaDecision:
    """Register a new version of a subject, or return the existing one."""
    check_subject(subject)
    live = state.versions(subject)
    if submitted.schema.strip() and not any(state.contract_setting(subject, name) for name in CONTRACT_SETTINGS):
        content, _ = checks.content(state, subject, submitted)
        found = find_version(checks, state, content, live)
        if found is not None and submitted.version in (None, found.version) and submitted.id in (None, found.id):
            return SchemaDecision([], registered(found))
    mode = _writable(state, subject, with_id=submitted.id is not None)
    if mode != "IMPORT":
        submitted = _completed(state, subject, submitted, live)
    content, parsed = checks.content(state, subject, submitted)
    found = find_version(checks, state, content, live)
    if found is not None and submitted.version is None and submitted.id in (None, found.id):
        return SchemaDecision([], registered(found))
    checks.check_new(parsed)
    if mode != "IMPORT":
        why = problems(state, checks, subject, parsed, content, live)
        if why:
            raise rest_errors.incompatible(subject, why)
    number = _next_version(state, subject, submitted.version, mode)
    schema_id = _id_for(state, content, found, submitted.id)
    version = Version(subject, number, schema_id, content, deleted=False)
    writes: list[Write] = [
        (Key(SCHEMA, subject, old.version), None)
        for old in state.versions(subject, deleted=True)
        if old.deleted and old.id == schema_id and old.version < number
        and not state.referring(subject, old.version, deleted=True)
    ]  # fmt: skip
    return SchemaDecision([*writes, version.record()], registered(version))


def _completed(state: RegistryState, subject: str, submitted: Submitted, live: Sequence[Version]) -> Submitted:
    """The request, completed by the last version's schema, metadata and rules, and by the subject's settings."""
    last = live[-1].content if live else None
    if not submitted.schema.strip() and last is not None:
        submitted = submitted._replace(schema=last.schema, schema_type=last.schema_type, references=last.references)
    contract = contracts.with_version(
        state.inherited_contract(subject, submitted.contract),
        _following(state, subject),
        asked=submitted.version is not None,
    )
    return submitted._replace(contract=contract)


def registered(version: Version) -> dict[str, Any]:
    """The answer to the registration of this version. It omits the text: confluent-kafka's client would cache the text
    of a Protobuf file in place of the descriptor that it sent and needs.
    """
    return {"id": version.id, "version": version.version, "guid": version.content.guid}


def _writable(state: RegistryState, subject: str, *, with_id: bool) -> str:
    mode = state.mode(subject)
    if mode in READ_ONLY:
        raise rest_errors.not_permitted(f"Subject {subject} is in read-only mode")
    if with_id and mode != "IMPORT":
        raise rest_errors.not_permitted(
            f"Subject {subject} is not in import mode, so a request may not give the schema's id"
        )
    if not with_id and mode != "READWRITE":
        raise rest_errors.not_permitted(f"Subject {subject} is not in read-write mode")
    return mode


def _next_version(state: RegistryState, subject: str, wanted: int | None, mode: str) -> int:
    following = _following(state, subject)
    if following > MAX_NUMBER and not wanted:
        raise rest_errors.not_permitted(
            f"no version is left for subject {subject}: {MAX_NUMBER} was given, the highest"
        )
    if wanted is None or wanted == following or (mode == "IMPORT" and wanted > 0):
        return wanted or following
    raise rest_errors.invalid_schema(f"version {wanted} is not one more than the last version, {following - 1}")


def _following(state: RegistryState, subject: str) -> int:
    return max((one.version for one in state.versions(subject, deleted=True)), default=0) + 1


def _id_for(state: RegistryState, content: Content, found: Version | None, wanted: int | None) -> int:
    if wanted is None:
        known = state.ids.get(content)
        if known is not None:
            return known
        if found is None and state.highest_id >= MAX_NUMBER:
            raise rest_errors.not_permitted(
                f"no id is left: {MAX_NUMBER} was given, the highest; import schemas with lower ids into an empty topic"
            )
        return found.id if found is not None else state.highest_id + 1
    there = state.contents.get(wanted)
    if there is not None and there != content:
        raise rest_errors.id_does_not_match(wanted)
    return wanted


def delete_version(
    state: RegistryState, subject: str, version: Version, *, permanent: bool, url: str
) -> SchemaDecision:
    """Delete a version: softly, or permanently if it was soft-deleted before."""
    if version.deleted and not permanent:
        raise rest_errors.version_soft_deleted(subject, version.version)
    _check_changeable(state, subject)
    if state.referring(subject, version.version, deleted=permanent):
        raise rest_errors.reference_exists(subject, version.version)
    if permanent and not version.deleted:
        raise rest_errors.version_not_soft_deleted(subject, version.version)
    return SchemaDecision(_deletion(state, subject, [version], permanent, url), version.version)


def delete_subject(state: RegistryState, subject: str, *, permanent: bool, url: str) -> SchemaDecision:
    """Delete all versions of a subject."""
    versions = state.versions(subject, deleted=True)
    if not versions:
        raise rest_errors.subject_not_found(subject)
    live = [one for one in versions if not one.deleted]
    if not permanent and not live:
        raise rest_errors.subject_soft_deleted(subject)
    _check_changeable(state, subject)
    chosen = versions if permanent else live
    for one in chosen:
        if any(other.subject != subject for other in state.referring(subject, one.version, deleted=permanent)):
            raise rest_errors.reference_exists(subject, one.version)
    if permanent and live:
        raise rest_errors.subject_not_soft_deleted(subject)
    return SchemaDecision(_deletion(state, subject, chosen, permanent, url), [one.version for one in chosen])


def _deletion(
    state: RegistryState, subject: str, versions: Sequence[Version], permanent: bool, url: str
) -> list[Write]:
    """The records that delete versions. Permanent deletion also stores the highest id, so that it survives compaction;
    if no version is left, it deletes the subject's settings, too."""
    if not permanent:
        return [one._replace(deleted=True).record() for one in versions]
    writes: list[Write] = [(Key(SCHEMA, subject, one.version), None) for one in reversed(versions)]
    if len(versions) == len(state.versions(subject, deleted=True)):
        writes += [(Key(MODE, subject), None)] * (subject in state.modes)
        writes += [(Key(CONFIG, subject), None)] * (subject in state.configs)
    return [*writes, announcement(url, state.highest_id)]


def set_config(state: RegistryState, subject: str | None, asked: dict[str, Any]) -> SchemaDecision:
    """Change the settings of a subject, or the global ones if ``subject`` is None; null removes a setting."""
    if subject is not None:
        check_subject(subject)
    _check_changeable(state, subject)
    changed = {"compatibilityLevel" if name == "compatibility" else name: one for name, one in asked.items()}
    for name, value in changed.items():
        changed[name] = _setting(name, value) if value is not None else None
    kept = {name: one for name, one in state.configs.get(subject, {}).items() if name != "subject"}
    value = {name: one for name, one in {**kept, **changed}.items() if one is not None}
    named = value if subject is None else {"subject": subject, **value}
    return SchemaDecision(
        [(Key(CONFIG, subject), named)], {name: one for name, one in asked.items() if one is not None}
    )


def _setting(name: str, value: Any) -> Any:
    match name:
        case "compatibilityLevel":
            if not isinstance(value, str) or value.upper() not in LEVELS:
                raise rest_errors.invalid_level(value)
            return value.upper()
        case "normalize":
            if not isinstance(value, bool):
                raise rest_errors.invalid_level(value)
            return value
        case "compatibilityGroup":
            if not isinstance(value, str):
                raise rest_errors.not_permitted(f"compatibilityGroup is the name of a metadata property, not {value!r}")
            return value
        case "defaultMetadata" | "overrideMetadata":
            return contracts.metadata_of(value)
        case "defaultRuleSet" | "overrideRuleSet":
            return contracts.rule_set_of(value)
        case "compatibilityPolicy" if value == ALLOWED[name]:
            return value
        case _:
            known = ", ".join(("compatibility", "normalize", "compatibilityGroup", *CONTRACT_SETTINGS))
            raise rest_errors.not_permitted(f"this registry does not support {name}: only {known}")


def _check_changeable(state: RegistryState, subject: str | None) -> None:
    if state.mode(subject) in READ_ONLY:
        raise rest_errors.not_permitted(f"Subject {subject} is in read-only mode")


def delete_config(state: RegistryState, subject: str | None) -> SchemaDecision:
    """Reset a subject's level to the global one, or the global level to the default; the answer is the previous
    level."""
    before = state.configs.get(subject)
    if before is None and subject is not None:
        raise rest_errors.subject_not_found(subject)
    _check_changeable(state, subject)
    shown = {name: one for name, one in (before or {}).items() if name != "subject"}
    shown.setdefault("compatibilityLevel", state.level(subject))
    return SchemaDecision([(Key(CONFIG, subject), None)] if before is not None else [], shown)


def set_mode(state: RegistryState, subject: str | None, mode: object, *, force: bool) -> SchemaDecision:
    """Change the mode of a subject, or the global one. IMPORT needs a subject without schemas, unless it is forced."""
    if subject is not None:
        check_subject(subject)
    if not isinstance(mode, str) or mode.upper() not in MODES:
        raise rest_errors.invalid_mode(mode)
    wanted = mode.upper()
    writes: list[Write] = []
    if wanted == "IMPORT" and state.mode(subject) != "IMPORT" and not force:
        names = list(state.subjects) if subject is None else [subject]
        if any(state.versions(name) for name in names):
            raise rest_errors.not_permitted("Cannot import since found existing subjects")
        for one in [one for name in names for one in state.versions(name, deleted=True)]:
            if any(other.subject not in names for other in state.referring(one.subject, one.version, deleted=True)):
                raise rest_errors.reference_exists(one.subject, one.version)
            writes.append((Key(SCHEMA, one.subject, one.version), None))
    value = {"mode": wanted} if subject is None else {"subject": subject, "mode": wanted}
    return SchemaDecision([*writes, (Key(MODE, subject), value)], {"mode": mode})


def delete_mode(state: RegistryState, subject: str | None) -> SchemaDecision:
    """Reset a subject's mode to the global one, or the global mode to the default; the answer is the previous mode."""
    before = state.modes.get(subject)
    if before is None and subject is not None:
        raise rest_errors.subject_not_found(subject)
    writes: list[Write] = [(Key(MODE, subject), None)] if before is not None else []
    return SchemaDecision(writes, {"mode": before or state.mode(subject)})
