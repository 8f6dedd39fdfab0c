"""JSON Schemas with their regular expressions translated to Python's syntax. Called by the JSON codec and by the
registry.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import ValidationError
from jsonschema.validators import extend
from referencing import Specification
from referencing.jsonschema import DRAFT7, UnknownDialect, specification_with

from oncelog.schemas.json_schema.ecma_patterns import UncheckedPattern, compiled


def specification_of(schema: Any) -> Specification[Any]:
    """Draft 7, unless the schema names another one that is known."""
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    if not isinstance(named, str):
        return DRAFT7
    try:
        return specification_with(named)
    except UnknownDialect:
        return DRAFT7


def check_schema(kind: Any, schema: Any) -> None:
    """Refuse a value that is not a schema. jsonschema's own check takes Python's expressions for those of JSON Schema.

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
    """The class of validators, whose keyword ``pattern`` takes JSON Schema's expressions."""
    return extend(kind, {"pattern": _pattern})


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(value, "string"):
        return
    try:
        fits = compiled(pattern).search(value)
    except (UncheckedPattern, re.error):
        return
    if not fits:
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def translated(schema: Any) -> Any:
    """The schema with ``patternProperties`` in Python's syntax; a pattern that Python cannot express matches any
    name.
    """
    made = copy.deepcopy(schema)
    for inner in _inner(made):
        found = inner.get("patternProperties")
        if isinstance(found, Mapping):
            inner["patternProperties"] = dict(_property(pattern, value) for pattern, value in found.items())
    return made


def _property(pattern: str, value: Any) -> tuple[str, Any]:
    try:
        return compiled(pattern).pattern, value
    except (UncheckedPattern, re.error):
        return "^", True


def _inner(schema: Any) -> Iterator[dict[str, Any]]:
    """All schemas in a schema that are objects."""
    specification = specification_of(schema)
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += [inner.contents for inner in specification.create_resource(one).subresources()]
