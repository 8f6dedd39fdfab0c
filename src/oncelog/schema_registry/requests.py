"""Parses and checks the bodies of requests. Pure. Called by the routes and the rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from oncelog.runtime import real_json as json
from oncelog.schema_registry import rest_errors
from oncelog.schema_registry.contracts import Contract, contract_of
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.schema_records import MAX_NUMBER
from oncelog.schema_registry.state import AVRO, VersionReference

LATEST = -1
MAX_REFERENCES = 1000


class Submitted(NamedTuple):
    """A schema in a request. An empty text stands for the subject's previous schema. The ``version`` of a reference may
    be ``LATEST``."""

    schema: str
    schema_type: str = AVRO
    references: tuple[VersionReference, ...] = ()
    contract: Contract = MappingProxyType({})
    version: int | None = None
    id: int | None = None
    normalize: bool = False


def json_object(body: bytes) -> dict[str, Any]:
    """Parse the body of a request.

    :raises Refused: the body is not a JSON object.
    """
    try:
        found = json.loads(body)
    except RecursionError:
        raise rest_errors.invalid_schema("the body is nested too deeply") from None
    except ValueError as error:
        raise Refused(400, 400, f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Refused(422, 422, "the body is not a JSON object")
    return found


def submitted(body: bytes, *, normalize: bool) -> Submitted:
    """The schema in the body of a request.

    :raises Refused: it has none, or another part of the body is wrong.
    """
    found = json_object(body)
    schema, kind = found.get("schema"), found.get("schemaType") or AVRO
    if schema is not None and not isinstance(schema, str):
        raise rest_errors.invalid_schema(f"schema is not a string: {schema!r:.100}")
    if not isinstance(kind, str):
        raise rest_errors.invalid_schema(f"schemaType is not a string: {kind!r}")
    version, schema_id = _number(found, "version"), _number(found, "id")
    return Submitted(
        schema or "",
        kind.upper(),
        _references(found.get("references")),
        contract_of(found),
        None if version in (0, LATEST) else version,
        None if schema_id == -1 else schema_id,
        normalize,
    )


def _number(found: Mapping[str, Any], name: str) -> int | None:
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not -1 <= value <= MAX_NUMBER:
        raise rest_errors.invalid_schema(f"{name} is not a number from 1 to 2^31-1: {value!r}")
    return value


def _references(listed: object) -> tuple[VersionReference, ...]:
    if listed is None:
        return ()
    if not isinstance(listed, list) or len(listed) > MAX_REFERENCES:
        raise rest_errors.invalid_schema(f"references is not a list of at most {MAX_REFERENCES}")
    found = []
    for one in listed:
        if not isinstance(one, dict):
            raise rest_errors.invalid_schema(f"a reference is not a JSON object: {one!r}")
        name, subject, version = one.get("name"), one.get("subject"), one.get("version")
        if not isinstance(name, str) or not isinstance(subject, str) or not name or not subject:
            raise rest_errors.invalid_schema("a reference needs a name and a subject")
        if not isinstance(version, int) or isinstance(version, bool) or not (version == LATEST or version > 0):
            raise rest_errors.invalid_schema(f"the reference {name!r} has no version from 1 on: {version!r}")
        found.append(VersionReference(name, subject, version))
    return tuple(found)


def version_of(text: str) -> int:
    """A version in an address: a number from 1 on, or LATEST.

    :raises Refused: it is neither.
    """
    if text.strip().lower() == "latest" or text.strip() == "-1":
        return LATEST
    try:
        number = int(text)
    except ValueError:
        raise rest_errors.invalid_version(text) from None
    if not 0 < number <= MAX_NUMBER:
        raise rest_errors.invalid_version(text)
    return number
