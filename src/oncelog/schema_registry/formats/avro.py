"""Avro: read and compared by the ``avro`` package; written as Java's Avro writes a schema.

Java's order of fields matters when a topic moves between registries: Confluent's finds a schema by its text.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import avro.schema
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.constants import PRIMITIVE_TYPES
from avro.errors import AvroException, IgnoredLogicalType
from avro.name import Names

from oncelog.schema_registry.formats.parsed import Dependency, check_depth
from oncelog.schema_registry.rest_errors import InvalidSchema

warnings.filterwarnings("ignore", category=IgnoredLogicalType)
"""A logical type that the package does not know is read as what it stands for, as the specification says."""

_NOT_A_SCHEMA = (AvroException, ValueError, TypeError, AttributeError, KeyError, RecursionError)
_NAMED = ("record", "error", "enum", "fixed")
_ORDER: Mapping[str, tuple[str, ...]] = {
    "record": ("fields",),
    "error": ("fields",),
    "enum": ("symbols", "default"),
    "fixed": ("size",),
    "array": ("items",),
    "map": ("values",),
}


class _Compared(dict[Any, Any]):
    """The pairs that were compared. The package's own key hashes so that two unions of 1,000 branches take a minute."""

    def __contains__(self, pair: Any) -> bool:
        return super().__contains__((id(pair.reader), id(pair.writer)))

    def __getitem__(self, pair: Any) -> Any:
        return super().__getitem__((id(pair.reader), id(pair.writer)))

    def __setitem__(self, pair: Any, found: Any) -> None:
        super().__setitem__((id(pair.reader), id(pair.writer)), found)


class AvroSchema:
    """A parsed schema; made by :func:`parse`."""

    def __init__(self, text: str, tree: object, schema: Any) -> None:
        self.text = text
        self._tree = tree
        self._schema = schema

    @cached_property
    def _normalized(self) -> str:
        return _json(_written(self._tree, None, in_order=True))

    def normalized(self) -> str:
        return self._normalized

    def formatted(self, form: str) -> str:
        raise InvalidSchema(f"Avro has no format {form!r}")

    def problems_reading(self, writer: AvroSchema) -> list[str]:
        try:
            checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]
            checker.memoize_map = _Compared()
            found = checker.get_compatibility(self._schema, writer._schema)
        except RecursionError:
            return ["{errorType:'TOO_DEEP', description:'the schemas are nested too deeply to be compared'}"]
        if found.compatibility is SchemaCompatibilityType.compatible:
            return []
        kinds = sorted({kind.name.upper() for kind in found.incompatibilities}) or ["INCOMPATIBLE"]
        where, what = ", ".join(sorted(found.locations)), ", ".join(sorted(found.messages))
        return [f"{{errorType:'{kind}', description:'at {where}: {what}'}}" for kind in kinds]


def parse(text: str, dependencies: Sequence[Dependency]) -> AvroSchema:
    """:raises InvalidSchema: the text is not an Avro schema."""
    try:
        names, known = Names(), Names()
        for dependency in dependencies:
            avro.schema.make_avsc_object(_loaded(dependency.text), names)
        known.names.update(names.names)
        schema = avro.schema.make_avsc_object(_loaded(text), names)
        tree = schema.to_json(known)
        return AvroSchema(_json(_written(tree, None)), tree, schema)
    except _NOT_A_SCHEMA as error:
        if isinstance(error, InvalidSchema):
            raise
        raise InvalidSchema(f"this is not an Avro schema: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"its text is not JSON: {error}"
    return str(error)[:500] or type(error).__name__


def _loaded(text: str) -> object:
    """A schema's JSON; the name of a primitive type may stand there without quotation marks."""
    bare = text.strip()
    found = bare if bare in PRIMITIVE_TYPES else json.loads(text)
    check_depth(found)
    return found


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _written(node: Any, namespace: str | None, *, in_order: bool = False) -> Any:
    """A schema's JSON with Java's order of fields, and names without the namespace that they are in."""
    if isinstance(node, str):
        space, _, name = node.rpartition(".")
        return name if space and space == namespace else node
    if isinstance(node, list):
        return [_written(branch, namespace, in_order=in_order) for branch in node]
    kind = node["type"]
    if not isinstance(kind, str):
        return _written(kind, namespace, in_order=in_order)
    written: dict[str, Any] = {"type": kind}
    inner = _add_name(written, node, namespace) if kind in _NAMED else namespace
    for name in _ORDER.get(kind, ()):
        if name in node:
            written[name] = _inner(name, node[name], inner, in_order)
    _add_rest(written, node, ("name", "namespace", "aliases"), in_order)
    if "aliases" in node:
        written["aliases"] = node["aliases"]
    return kind if len(written) == 1 and kind not in _ORDER else written


def _add_name(written: dict[str, Any], node: dict[str, Any], namespace: str | None) -> str | None:
    """Add name and documentation; returns the namespace of what is inside."""
    own: str | None = node.get("namespace") or None
    written["name"] = node["name"]
    if own != namespace:
        written["namespace"] = own or ""
    if node.get("doc") is not None:
        written["doc"] = node["doc"]
    return own


def _inner(name: str, value: Any, namespace: str | None, in_order: bool) -> Any:
    if name == "fields":
        return [_field(one, namespace, in_order) for one in value]
    return _written(value, namespace, in_order=in_order) if name in ("items", "values") else value


def _field(field: dict[str, Any], namespace: str | None, in_order: bool) -> dict[str, Any]:
    written = {"name": field["name"], "type": _written(field["type"], namespace, in_order=in_order)}
    for name in ("doc", "default"):
        if name in field:
            written[name] = field[name]
    if field.get("order", "ascending") != "ascending":
        written["order"] = field["order"]
    if "aliases" in field:
        written["aliases"] = field["aliases"]
    _add_rest(written, field, ("order",), in_order)
    return written


def _add_rest(written: dict[str, Any], node: dict[str, Any], known: tuple[str, ...], in_order: bool) -> None:
    rest = [name for name in node if name not in written and name not in known]
    for name in sorted(rest) if in_order else rest:
        written[name] = node[name]
