"""JSON values of a JSON Schema as an Arrow array, and rows as JSON values.

Objects with properties are structs, those without are maps; a value without a type, or with several types, becomes JSON
text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from oncelog.runtime import real_json as json
from oncelog.schemas.arrow.fitting import Problems, fitting
from oncelog.schemas.avro_json import to_json
from oncelog.schemas.json_codec import JsonCodec
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch, inside
from oncelog.schemas.structs import Schema

Take = Callable[[Any, str], Any]
"""Converts a value; the second argument is its path. Raises SchemaError."""


class _Kind(NamedTuple):
    """What a part of the schema maps to.

    :param take: converts a JSON value to the form that Arrow accepts.
    :param give: converts a value of the column to JSON. A map is a dictionary.
    """

    arrow_type: pa.DataType
    take: Take
    give: Take


_INTEGER_BITS = 63
_APPLY_BESIDE_REFERENCES = ("draft2019-09", "draft2020-12")
_ADDITIONS = frozenset(("properties", "additionalProperties", "items", "oneOf", "anyOf", "allOf"))
"""Keywords that give a schema a type other than that of its reference."""
_PLAIN: dict[str, tuple[pa.DataType, type | tuple[type, ...]]] = {
    "string": (pa.string(), str),
    "boolean": (pa.bool_(), bool),
    "null": (pa.bool_(), ()),
}

_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer"}


class JsonColumns:
    """The columns of a schema.

    :param needs: the referenced schemas, by name.
    :raises SchemaError: the text is not a JSON Schema.
    """

    def __init__(self, schema: Schema, needs: Mapping[str, Schema]) -> None:
        self.codec = JsonCodec(schema, needs)
        self.arrow_type, self._take, self._give = _Types(self.codec).of_root()

    def json_of(self, row: Any) -> Any:
        """The JSON value of a row. A null column is left out unless the schema requires its property.

        :raises SchemaError: a column of JSON text holds something else.
        """
        return self._give(row, "")

    def array(self, rows: list[tuple[JsonCodec, bytes] | None]) -> tuple[pa.Array, Problems]:
        """Decode each value with its writer's codec; returns the column, and the errors of values that do not fit."""
        values: list[Any] = []
        problems: Problems = {}
        for number, row in enumerate(rows):
            value = None
            if row is not None:
                codec, data = row
                try:
                    value = self._take(codec.decode(data), "")
                except SchemaError as error:
                    problems[number] = error
            values.append(value)
        found, unfit = fitting(values, lambda some: pa.array(some, self.arrow_type))
        return found, problems | unfit


class _Types:
    def __init__(self, codec: JsonCodec) -> None:
        from oncelog.schemas.json_schema.patterns import specification_of

        self._root, self._known = codec.tree, codec.known
        self._specification = specification_of(codec.tree)

    def of_root(self) -> _Kind:
        resource = self._specification.create_resource(self._root)
        return self._of(self._root, self._known.resolver_with_root(resource), ())

    def _of(self, schema: Any, resolver: Any, around: tuple[Any, ...]) -> _Kind:
        """The Arrow type of a part of the schema, and the conversion to it.

        :param resolver: resolves the part's references.
        :param around: the referenced schemas that led to this part.
        """
        if (only := _single(schema)) is not schema:
            return self._inner(only, resolver, around)
        if not isinstance(schema, dict):
            return _TEXT
        if isinstance(schema.get("$ref"), str):
            return self._of_reference(schema, resolver, around)
        kind = schema.get("type", _type_of_values(schema))
        kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
        if len(kinds) != 1 or any(name in schema for name in ("oneOf", "anyOf", "allOf")):
            return _TEXT
        match kinds[0]:
            case "object":
                return self._object(schema, resolver, around)
            case "array" if isinstance(schema.get("items"), dict):
                inner, take, give = self._inner(schema["items"], resolver, around)
                return _Kind(pa.list_(inner), _array(take), _list_of(give))
            case "integer":
                return _Kind(pa.int64(), _integer, _plain)
            case "number":
                return _Kind(pa.float64(), _number, _plain)
            case str() as plain if plain in _PLAIN:
                found_type, python = _PLAIN[plain]
                return _Kind(found_type, _of_type(plain, python), _plain)
        return _TEXT

    def _inner(self, schema: Any, resolver: Any, around: tuple[Any, ...]) -> _Kind:
        """The type of a schema inside another one; its ``$id`` changes what references are relative to."""
        if isinstance(schema, dict):
            resolver = resolver.in_subresource(self._specification.create_resource(schema))
        return self._of(schema, resolver, around)

    def _of_reference(self, schema: Mapping[str, Any], resolver: Any, around: tuple[Any, ...]) -> _Kind:
        """The type of the referenced schema. It is text if the schema adds conditions of its own that drafts from
        2019-09 on apply beside a reference, or if it contains itself.
        """
        from referencing.exceptions import Unresolvable

        if self._specification.name in _APPLY_BESIDE_REFERENCES and not _ADDITIONS.isdisjoint(schema):
            return _TEXT
        try:
            found = resolver.lookup(schema["$ref"])
        except Unresolvable:
            return _TEXT
        if any(found.contents is one for one in around):
            return _TEXT
        return self._of(found.contents, found.resolver, (*around, found.contents))

    def _object(self, schema: Mapping[str, Any], resolver: Any, around: tuple[Any, ...]) -> _Kind:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            fields = {name: self._inner(one, resolver, around) for name, one in properties.items()}
            given = {name for name, one in properties.items() if isinstance(one, dict) and "default" in one}
            required = set(schema.get("required", ()))
            kind = pa.struct([pa.field(name, one.arrow_type) for name, one in fields.items()])
            take = _struct({name: one.take for name, one in fields.items()}, required - given)
            return _Kind(kind, take, _object_of({name: one.give for name, one in fields.items()}, required))
        inner = self._inner(schema.get("additionalProperties"), resolver, around)
        return _Kind(pa.map_(pa.string(), inner.arrow_type), _map(inner.take), _object_of_map(inner.give))


def _single(schema: Any) -> Any:
    """The schema that a combination consists of: the only branch of ``allOf``, or the only branch of ``anyOf`` or
    ``oneOf`` besides null; otherwise the schema itself."""
    for name in ("oneOf", "anyOf", "allOf"):
        parts = schema.get(name) if isinstance(schema, dict) else None
        if isinstance(parts, list) and "properties" not in schema:
            kinds = [one for one in parts if not _is_null(one)]
            if len(kinds) == 1:
                return _single(kinds[0])
    return schema


def _is_null(schema: Any) -> bool:
    """Whether null is the only value of a schema, which may have a title and other annotations."""
    if not isinstance(schema, dict):
        return False
    only = [schema["const"]] if "const" in schema else schema.get("enum")
    return schema.get("type") in ("null", ["null"]) or only == [None]


def _type_of_values(schema: Mapping[str, Any]) -> str | None:
    """The type of the values in ``const`` or ``enum`` besides null, if they have one type."""
    values = [schema["const"]] if "const" in schema else schema.get("enum", ())
    found = {type(value) for value in values if value is not None}
    return _TYPE_NAMES.get(found.pop()) if len(found) == 1 else None


def _unfit(where: str, what: str, value: Any) -> SchemaMismatch:
    return SchemaMismatch(f"{where or 'the value'} is {repr(value)[:80]}, which cannot be read as {what}")


def _as_text(value: Any, where: str) -> Any:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _of_text(value: Any, where: str) -> Any:
    if not isinstance(value, str):
        return _plain(value)
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise SchemaError(
            f"{where or 'the value'} is {repr(value)[:80]}, but a property without a type, or of several types, is "
            f"written from its JSON text ({error}): write to_json(...) in the query, or a string in double quotes"
        ) from error


def _plain(value: Any, where: str = "") -> Any:
    """JSON of a value whose type the schema does not say, without null columns."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return to_json(value)


_TEXT = _Kind(pa.string(), _as_text, _of_text)


def _of_type(name: str, python: type | tuple[type, ...]) -> Take:
    def take(value: Any, where: str) -> Any:
        if value is not None and not isinstance(value, python):
            raise _unfit(where, name, value)
        return value

    return take


def _integer(value: Any, where: str) -> Any:
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value.bit_length() > _INTEGER_BITS:
        raise _unfit(where, "an integer of 64 bits", value)
    return value


def _number(value: Any, where: str) -> Any:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _unfit(where, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise _unfit(where, "a number", value) from None


def _array(inner: Take) -> Take:
    def take(value: Any, where: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _unfit(where, "an array", value)
        return [inner(one, f"{where}[{i}]") for i, one in enumerate(value)]

    return take


def _map(inner: Take) -> Take:
    def take(value: Any, where: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _unfit(where, "an object", value)
        return [(name, inner(one, inside(where, name))) for name, one in value.items()]

    return take


def _list_of(inner: Take) -> Take:
    def give(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            return _plain(value)
        return [inner(one, f"{where}[{i}]") for i, one in enumerate(value)]

    return give


def _object_of_map(inner: Take) -> Take:
    def give(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            return _plain(value)
        return {name: inner(one, inside(where, name)) for name, one in value.items()}

    return give


def _object_of(fields: Mapping[str, Take], required: set[str]) -> Take:
    def give(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            return _plain(value)
        return {
            name: fields.get(name, _plain)(one, inside(where, name))
            for name, one in value.items()
            if one is not None or name in required
        }

    return give


def _struct(fields: Mapping[str, Take], required: set[str]) -> Take:
    """Converts an object to a struct. A missing property becomes null, whatever its ``default`` is: as in Confluent's
    clients, a default in a JSON Schema only allows the property to be missing."""

    def take(value: Any, where: str) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _unfit(where, "an object", value)
        made = {}
        for name, inner in fields.items():
            here = inside(where, name)
            if name in required and name not in value:
                raise SchemaMismatch(f"{here} is missing, and the reader's schema requires it")
            made[name] = inner(value.get(name), here)
        return made

    return take
