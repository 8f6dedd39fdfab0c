"""Checks JSON Schemas and values as ``jsonschema`` does, with JSON Schema's regular expressions instead of Python's.
Called by the JSON codec and by the registry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from jsonschema import ValidationError
from jsonschema.validators import extend
from referencing import Specification
from referencing.jsonschema import DRAFT7, UnknownDialect, specification_with

from oncelog.schemas.json_schema.ecma_patterns import UncheckedPattern, compiled, is_found

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
"""The keywords that refer to another schema."""


def specification_of(schema: Any) -> Specification[Any]:
    """The draft that ``$schema`` names; draft 7 if it names no known one."""
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(named, str):
        return DRAFT7
    try:
        return specification_with(named)
    except UnknownDialect:
        return DRAFT7


def check_schema(kind: Any, schema: Any) -> None:
    """Check that a value is a schema. jsonschema's own check would treat the schema's regular expressions as Python's.

    :raises jsonschema.SchemaError: it is not a schema.
    :raises ValueError: a regular expression is invalid.
    """
    kind.check_schema(schema, format_checker=None)
    for inner in _inner(schema):
        for pattern in (inner.get("pattern"), *(inner.get("patternProperties") or ())):
            if isinstance(pattern, str):
                _check(pattern)


def _check(pattern: str) -> None:
    try:
        compiled(pattern)
    except UncheckedPattern:
        return
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error


def with_patterns(kind: Any) -> Any:
    """A class of validators whose keywords take regular expressions of JSON Schema, and match each in a limited time.
    Its validators raise ``SlowPattern``.
    """
    closed = kind.VALIDATORS["additionalProperties"]
    unevaluated = kind.VALIDATORS.get("unevaluatedProperties")

    def additional(validator: Any, rest: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if validator.is_type(value, "object"):
            yield from closed(validator, rest, value, _named(schema, _matched(value, schema))) or ()

    def others(validator: Any, rest: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if validator.is_type(value, "object"):
            names = _evaluated(validator, value, schema)
            yield from unevaluated(validator, rest, value, {"properties": dict.fromkeys(names, True)}) or ()

    made = {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": additional}
    return extend(kind, made if unevaluated is None else {**made, "unevaluatedProperties": others})


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(value, "string") and not _fits(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    for pattern, inner in patterns.items() if validator.is_type(value, "object") else ():
        for name, one in value.items():
            if _fits(pattern, name):
                yield from validator.descend(one, inner, path=name, schema_path=pattern)


def _fits(pattern: str, text: str) -> bool:
    """Whether the text matches; true if Python cannot tell."""
    try:
        return is_found(pattern, text)
    except (UncheckedPattern, re.error):
        return True


def _matched(value: Any, schema: Any) -> set[str]:
    """The properties of an object that match an expression of ``patternProperties``."""
    patterns = schema.get("patternProperties", ())
    return {name for name in value if any(_fits(pattern, name) for pattern in patterns)}


def _named(schema: Any, names: set[str]) -> Any:
    """The schema with these properties by name, instead of ``patternProperties``."""
    rest = {keyword: one for keyword, one in schema.items() if keyword != "patternProperties"}
    return {**rest, "properties": {**dict.fromkeys(names, True), **schema.get("properties", {})}}


def _evaluated(validator: Any, value: Any, schema: Any) -> set[str]:
    """The properties of an object that a keyword besides ``unevaluatedProperties`` evaluates (draft 2020-12, 11.3)."""
    if not isinstance(schema, Mapping):
        return set()
    found = {name for name in schema.get("properties", ()) if name in value} | _matched(value, schema)
    if "additionalProperties" in schema:
        found |= value.keys()
    for keyword in REFERENCES:
        if keyword in schema:
            there = validator._resolver.lookup(schema[keyword])
            other = validator.evolve(schema=there.contents, _resolver=there.resolver)
            found |= _evaluated_by(other, value)
    inner = [one for keyword in ("allOf", "anyOf", "oneOf") for one in schema.get(keyword, ())]
    inner += [one for name, one in schema.get("dependentSchemas", {}).items() if name in value]
    if "if" in schema:
        branch = "then" if validator.evolve(schema=schema["if"]).is_valid(value) else "else"
        inner += [schema[name] for name in ("if", branch) if name in schema]
    for one in inner:
        found |= _evaluated_by(validator.evolve(schema=one), value)
    return found


def _evaluated_by(validator: Any, value: Any) -> set[str]:
    """The properties that the schema of this validator evaluates: none if the object does not fit it."""
    if not validator.is_valid(value):
        return set()
    schema = validator.schema
    everything = isinstance(schema, Mapping) and "unevaluatedProperties" in schema
    return set(value) if everything else _evaluated(validator, value, schema)


def _inner(schema: Any) -> Iterator[dict[str, Any]]:
    """All schemas within a schema that are JSON objects, itself included."""
    specification = specification_of(schema)
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += [inner.contents for inner in specification.create_resource(one).subresources()]
