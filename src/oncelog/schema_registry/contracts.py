"""Metadata and rules of a schema: parses them in requests, and computes what a new version inherits. Pure.

Called by the requests, the rules and the state. Clients carry out the rules; the registry checks, merges and shows
them, in the form in which Confluent's registry stores them: without empty parts, names and tags in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oncelog.runtime import real_json as json
from oncelog.schema_registry import rest_errors
from oncelog.schema_registry.schema_records import compact

Contract = Mapping[str, Any]
"""``metadata`` and ``ruleSet`` of a schema. A part that the request omits is missing; an empty part is present, and
nothing is inherited for it."""
VERSION = "confluent:version"
"""The property that Confluent's registry sets to the version's number, if the schema has this property or the request
names a version.
"""
MIGRATIONS = ("UPGRADE", "DOWNGRADE", "UPDOWN")
CONVERSIONS = ("WRITE", "READ", "WRITEREAD")
RULES = {"migrationRules": MIGRATIONS, "domainRules": CONVERSIONS, "encodingRules": CONVERSIONS}
_TEXTS = ("doc", "expr", "onSuccess", "onFailure")
_KINDS = ("TRANSFORM", "CONDITION")
MAX_RULE_NAME = 256


def contract_of(found: Mapping[str, Any]) -> Contract:
    """The contract in the body of a request.

    :raises Refused: a part of it is malformed.
    """
    given = {"metadata": metadata_of(found.get("metadata")), "ruleSet": rule_set_of(found.get("ruleSet"))}
    return {name: part for name, part in given.items() if part is not None}


def metadata_of(value: object) -> dict[str, Any] | None:
    """The metadata in a request; None if there is none.

    :raises Refused: the value is not metadata.
    """
    if value is None:
        return None
    try:
        found = _mapping(value)
        tags = {path: _names(listed) for path, listed in sorted(_mapping(found.get("tags")).items())}
        properties = _texts(found.get("properties"))
        shown = {"tags": tags, "properties": properties, "sensitive": _names(found.get("sensitive"))}
    except (TypeError, ValueError) as error:
        raise rest_errors.invalid_schema(
            "metadata needs strings as values of properties, and lists of strings as values of tags and of "
            f"sensitive: {error}"
        ) from None
    return _without_empty(shown)


def rule_set_of(value: object) -> dict[str, Any] | None:
    """The rules in a request; None if there are none.

    :raises Refused: a rule is malformed.
    """
    if value is None:
        return None
    try:
        found = _mapping(value)
        names: set[str] = set()
        shown = {phase: [_rule(one, phase, names) for one in found.get(phase) or ()] for phase in RULES}
    except (TypeError, ValueError) as error:
        raise rest_errors.invalid_rules(str(error)) from None
    return _without_empty({**shown, "enableAt": found.get("enableAt")})


def _rule(value: object, phase: str, names: set[str]) -> dict[str, Any]:
    rule = _mapping(value)
    name, kind, mode = rule.get("name"), rule.get("kind") or "TRANSFORM", rule.get("mode") or "WRITEREAD"
    if not isinstance(name, str) or not 0 < len(name) <= MAX_RULE_NAME:
        raise ValueError(f"Missing rule name, or one above {MAX_RULE_NAME} characters: {name!r}")
    if not (name[0].isalpha() or name[0] == "_") or not all(one.isalnum() or one in "_-" for one in name):
        raise ValueError(f"Illegal character in rule name: {name}")
    if name in names:
        raise ValueError(f"Found rule with duplicate name '{name}'")
    names.add(name)
    if not isinstance(rule.get("type"), str):
        raise ValueError(f"Missing rule type of rule '{name}'")
    if kind not in _KINDS or mode not in RULES[phase]:
        raise ValueError(f"{phase} can only be {', '.join(RULES[phase])}, each of kind {' or '.join(_KINDS)}: '{name}'")
    if mode not in ("WRITEREAD", "UPDOWN") and any("," in str(rule.get(end)) for end in ("onSuccess", "onFailure")):
        raise ValueError(f"Multiple actions only valid with WRITEREAD and UPDOWN: rule '{name}'")
    text = _texts({end: rule[end] for end in _TEXTS if rule.get(end) is not None})
    shown = {
        "name": name,
        "doc": text.get("doc"),
        "kind": kind,
        "mode": mode,
        "type": rule["type"],
        "tags": _names(rule.get("tags")),
        "params": _texts(rule.get("params")),
        **{end: text.get(end) for end in ("expr", "onSuccess", "onFailure")},
    }
    return {**_without_empty(shown), "disabled": rule.get("disabled") is True}


def stored(contract: Contract) -> str:
    """The JSON text in which a version stores a contract; empty for an empty contract."""
    kept = _without_empty(contract)
    return compact(kept).decode() if kept else ""


def inherited(given: Contract, previous: str, settings: Callable[[str], Any]) -> Contract:
    """The contract of a new version. A part that the request omits is inherited from the previous version. The
    subject's defaults are merged below the result, and the subject's overrides above it.

    :param settings: returns a subject's own setting by its name, or None.
    """
    before = json.loads(previous) if previous else {}
    found = {}
    for name, default, override, merge in (
        ("metadata", "defaultMetadata", "overrideMetadata", _merged_metadata),
        ("ruleSet", "defaultRuleSet", "overrideRuleSet", _merged_rules),
    ):
        own = given[name] if name in given else before.get(name)
        merged = merge(merge(settings(default), own), settings(override))
        if merged is not None:
            found[name] = merged
    return found


def with_version(contract: Contract, number: int, *, asked: bool) -> Contract:
    """The contract with the version's number among its metadata's properties, if ``asked`` or if the property already
    exists."""
    metadata = contract.get("metadata") or {}
    properties = metadata.get("properties") or {}
    if not asked and VERSION not in properties:
        return contract
    named = dict(sorted({**properties, VERSION: str(number)}.items()))
    return {**contract, "metadata": metadata_of({**metadata, "properties": named})}


def equal(given: str, there: str, version: int) -> bool:
    """Whether a version with the contract ``there`` matches ``given``. The property with the version's number may be
    missing in one of them."""
    if given == there:
        return True
    wanted, found = _version_in(given), _version_in(there)
    if wanted is None and found is not None:
        return given == _without_version(there)
    if wanted is not None and found is None and wanted == str(version):
        return _without_version(given) == there
    return False


def _version_in(contract: str) -> str | None:
    if VERSION not in contract:
        return None
    metadata = json.loads(contract).get("metadata") or {}
    number = (metadata.get("properties") or {}).get(VERSION)
    return None if number is None else str(number)


def _without_version(contract: str) -> str:
    found = json.loads(contract)
    properties = {name: value for name, value in found["metadata"]["properties"].items() if name != VERSION}
    return stored({**found, "metadata": metadata_of({**found["metadata"], "properties": properties})})


def _merged_metadata(before: Any, after: Any) -> Any:
    if before is None or after is None:
        return after if before is None else before
    merged = {name: {**(before.get(name) or {}), **(after.get(name) or {})} for name in ("tags", "properties")}
    return metadata_of({**merged, "sensitive": [*(before.get("sensitive") or ()), *(after.get("sensitive") or ())]})


def _merged_rules(before: Any, after: Any) -> Any:
    if before is None or after is None:
        return after if before is None else before
    merged: dict[str, Any] = {}
    for phase in RULES:
        new = after.get(phase) or []
        names = {rule["name"] for rule in new}
        merged[phase] = [rule for rule in before.get(phase) or () if rule["name"] not in names] + new
    return rule_set_of({**merged, "enableAt": after.get("enableAt") or before.get("enableAt")})


def _mapping(value: object) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{value!r:.100} is not a JSON object")
    return value or {}


def _texts(value: object) -> dict[str, str]:
    found = _mapping(value)
    for text in found.values():
        if not isinstance(text, str):
            raise TypeError(f"{text!r:.100} is not a string")
    return dict(sorted(found.items()))


def _names(value: object) -> list[str]:
    if value is not None and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raise TypeError(f"{value!r:.100} is not a list of strings")
    return sorted(set(value or ()))


def _without_empty(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part not in (None, "", [], {})}
