"""How bytes of a writer's schema become columns of a reader's: Avro's schema resolution. Pure.

What cannot be resolved is a step that fails with the reason, so that a record fails only if it has such a value.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from oncelog.schemas.arrow.avro_types import UNITS, AvroTypes, decimal_precision, joined
from oncelog.schemas.arrow.layout import Column, ReadOp, ReadStep
from oncelog.schemas.avro_codec import UNFIT
from oncelog.schemas.schema_errors import SchemaError

_WHOLE = {"int": 32, "long": 64}
_FLOATING = ("float", "double")
_TEXTS = ("string", "bytes")
MAX_STEPS = 100_000
"""Limit for the steps of a pair of schemas: a few lines of schema can double them repeatedly."""


def resolve(writer: AvroTypes, reader: AvroTypes, column: Column) -> ReadStep:
    """The steps that read the bytes of a value.

    :param column: of the reader.
    :raises SchemaError: the schemas together are too large.
    """
    found = _Resolution(writer, reader).resolve(writer.root, reader.root, column, "")
    root = writer.known(writer.root)
    return _rest(found) if isinstance(root, dict) and root["type"] == "bytes" else found


def _rest(found: ReadStep) -> ReadStep:
    """A value that consists only of bytes: serializers write it without its length."""
    if found.operation is ReadOp.MEMBER:
        return ReadStep(ReadOp.MEMBER, found.column, [_rest(found.steps[0])], found.extra)
    if found.operation is ReadOp.BYTES:
        return ReadStep(ReadOp.REST, found.column, extra=found.extra)
    return ReadStep(ReadOp.FAIL, extra="a value that is nothing but bytes is read as bytes or as a text alone")


class _Resolution:
    def __init__(self, writer: AvroTypes, reader: AvroTypes) -> None:
        self._writer = writer
        self._reader = reader
        self._skipped: dict[str, ReadStep] = {}
        self._count = 0

    def resolve(self, written: Any, read: Any, column: Column, where: str) -> ReadStep:
        self._counted()
        writer, reader = self._writer.known(written), self._reader.known(read)
        if isinstance(writer, list):
            return ReadStep(ReadOp.UNION, None, [self.resolve(branch, read, column, where) for branch in writer])
        if isinstance(reader, list):
            return self._into_union(written, reader, column, where)
        if writer["type"] == reader["type"] == "null":
            return ReadStep(ReadOp.NULL, column)
        if writer["type"] in ("record", "error") and reader["type"] in ("record", "error"):
            return self._record(writer, reader, column, where)
        if writer["type"] == reader["type"] == "array":
            item = self.resolve(writer["items"], reader["items"], column.children[0], f"{where}[]")
            return ReadStep(ReadOp.LIST, column, [item])
        if writer["type"] == reader["type"] == "map":
            value = self.resolve(writer["values"], reader["values"], column.children[1], f"{where}{{}}")
            return ReadStep(ReadOp.MAP, column, [value])
        return _plain(writer, reader, column) or _unfit(writer, reader, where)

    def _counted(self) -> None:
        self._count += 1
        if self._count > MAX_STEPS:
            raise SchemaError("the writer's and the reader's schema together are too large")

    def _record(self, writer: Mapping[str, Any], reader: Mapping[str, Any], column: Column, where: str) -> ReadStep:
        if not _same_name(writer, reader):
            return _unfit(writer, reader, where)
        positions = {one["name"]: i for i, one in enumerate(reader["fields"])}
        for i, one in enumerate(reader["fields"]):
            for alias in one.get("aliases", ()):
                positions.setdefault(alias, i)
        steps, found = [], set()
        for one in writer["fields"]:
            position = positions.get(one["name"])
            if position is None or position in found:
                steps.append(self.skip(one["type"]))
                continue
            found.add(position)
            field = reader["fields"][position]
            here = f"{where}.{field['name']}" if where else field["name"]
            steps.append(self.resolve(one["type"], field["type"], column.children[position], here))
        for i, field in enumerate(reader["fields"]):
            if i not in found:
                here = f"{where}.{field['name']}" if where else field["name"]
                steps.append(self._default(field, column.children[i], here))
        return ReadStep(ReadOp.RECORD, column, steps)

    def _default(self, field: Mapping[str, Any], column: Column, where: str) -> ReadStep:
        """The default of a field that was not written."""
        if "default" not in field:
            return ReadStep(ReadOp.FAIL, extra=f"{where} was not written, and has no default in the reader's schema")
        read = _Resolution(self._reader, self._reader).resolve(field["type"], field["type"], column, where)
        return ReadStep(ReadOp.DEFAULT, column, [read], _encoded(self._reader, field["type"], field["default"], where))

    def _into_union(self, written: Any, branches: list[Any], column: Column, where: str) -> ReadStep:
        """A value that is no union, read into one: its first branch of that type, or else the first that fits."""
        writer = self._writer.known(written)
        if writer["type"] == "null" and any(self._reader.known(branch) == {"type": "null"} for branch in branches):
            return ReadStep(ReadOp.NULL, column)
        kinds = [branch for branch in branches if self._reader.known(branch) != {"type": "null"}]
        apart = len(kinds) > 1 and joined(self._reader, kinds) is None
        order = sorted(range(len(kinds)), key=lambda i: not _is_same(writer, self._reader.known(kinds[i])))
        for i in order:
            step = self.resolve(written, kinds[i], column.children[i] if apart else column, where)
            if step.operation is not ReadOp.FAIL:
                return ReadStep(ReadOp.MEMBER, column, [step], i) if apart else step
        return _unfit(writer, {"type": "union"}, where)

    def skip(self, schema: Any) -> ReadStep:
        """Skip a value."""
        self._counted()
        known = self._writer.known(schema)
        if isinstance(known, list):
            return ReadStep(ReadOp.SKIP_UNION, None, [self.skip(branch) for branch in known])
        match known["type"]:
            case "record" | "error":
                name = known["name"]
                if name not in self._skipped:
                    self._skipped[name] = step = ReadStep(ReadOp.SKIP_RECORD)
                    step.steps = [self.skip(one["type"]) for one in known["fields"]]
                return self._skipped[name]
            case "array":
                return ReadStep(ReadOp.SKIP_LIST, None, [self.skip(known["items"])])
            case "map":
                return ReadStep(ReadOp.SKIP_MAP, None, [self.skip(known["values"])])
            case "int" | "long" | "enum":
                return ReadStep(ReadOp.SKIP_WHOLE)
            case "string" | "bytes":
                return ReadStep(ReadOp.SKIP_BYTES)
            case kind:
                sizes = {"null": 0, "boolean": 1, "float": 4, "double": 8}
                return ReadStep(ReadOp.SKIP_FIXED, extra=known["size"] if kind == "fixed" else sizes[kind])


def _plain(writer: Mapping[str, Any], reader: Mapping[str, Any], column: Column) -> ReadStep | None:
    """Between types that contain no others; None if the reader cannot take what was written."""
    wrote, reads = writer["type"], reader["type"]
    if decimal_precision(reader) is not None or decimal_precision(writer) is not None:
        return _decimal(writer, reader, column)
    if wrote in _WHOLE and reads in _WHOLE:
        if reads == "int":
            return ReadStep(ReadOp.INT, column) if wrote == "int" and column.arrow_type.bit_width == 32 else (
                ReadStep(ReadOp.LONG, column, extra=(1, 1, 32)) if wrote == "int" else None
            )  # fmt: skip
        return ReadStep(ReadOp.LONG, column, extra=(*_factor(writer, reader), _WHOLE[wrote]))
    if wrote in _WHOLE and reads in _FLOATING:
        return ReadStep(ReadOp.WHOLE_TO_FLOAT, column, extra=_WHOLE[wrote])
    if wrote in _FLOATING and reads in _FLOATING and (wrote, reads) != ("double", "float"):
        return ReadStep(ReadOp.FLOAT if wrote == "float" else ReadOp.DOUBLE, column)
    if wrote in _TEXTS and reads in _TEXTS:
        return ReadStep(ReadOp.BYTES, column, extra=reads == "string")
    if wrote == reads == "boolean":
        return ReadStep(ReadOp.BOOL, column)
    if wrote == reads == "fixed" and writer["size"] == reader["size"] and _same_name(writer, reader):
        return ReadStep(ReadOp.FIXED, column, extra=writer["size"])
    if wrote == reads == "enum" and _same_name(writer, reader):
        known, default = set(reader["symbols"]), reader.get("default")
        symbols = [symbol if symbol in known else default for symbol in writer["symbols"]]
        return ReadStep(ReadOp.ENUM, column, extra=tuple(None if one is None else one.encode() for one in symbols))
    return None


def _decimal(writer: Mapping[str, Any], reader: Mapping[str, Any], column: Column) -> ReadStep | None:
    """Decimal numbers of the same scale; a number that no column can hold is read as bytes."""
    precision = decimal_precision(reader)
    if writer.get("logicalType") != "decimal" or reader.get("logicalType") != "decimal":
        return None
    if writer.get("scale", 0) != reader.get("scale", 0) or writer["type"] not in ("bytes", "fixed"):
        return None
    size = writer["size"] if writer["type"] == "fixed" else -1
    if precision is not None:
        return ReadStep(ReadOp.DECIMAL, column, extra=(size, precision))
    return ReadStep(ReadOp.BYTES, column, extra=False) if size < 0 else ReadStep(ReadOp.FIXED, column, extra=size)


def _factor(writer: Mapping[str, Any], reader: Mapping[str, Any]) -> tuple[int, int]:
    """Factor and divisor for an integer: times in different units become Spark's microseconds."""
    read = UNITS.get(reader.get("logicalType", ""))
    if read is None:
        return 1, 1
    wrote = UNITS.get(writer.get("logicalType", ""), read)
    kept = max(read, UNITS["timestamp-micros"])  # milliseconds are microseconds in the column
    return (kept // wrote, 1) if kept >= wrote else (1, wrote // kept)


def _same_name(writer: Mapping[str, Any], reader: Mapping[str, Any]) -> bool:
    names = (reader["name"], *reader.get("aliases", ()))
    return _last(writer["name"]) in map(_last, names)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_same(writer: Any, reader: Any) -> bool:
    return bool(writer["type"] == reader["type"] and writer.get("name") == reader.get("name"))


def _unfit(writer: Mapping[str, Any], reader: Mapping[str, Any], where: str) -> ReadStep:
    place = f"{where} was written as" if where else "it was written as"
    return ReadStep(ReadOp.FAIL, extra=f"{place} {_shown(writer)}, which cannot be read as {_shown(reader)}")


def _shown(schema: Mapping[str, Any]) -> str:
    logical = schema.get("logicalType")
    named = f" {schema['name']}" if "name" in schema else f" ({logical})" if logical else ""
    return f"{schema['type']}{named}"


def _encoded(types: AvroTypes, schema: Any, default: Any, where: str) -> bytes:
    """The bytes of a field's default. Logical types stand in it as the types that they are made of."""
    import fastavro

    written = io.BytesIO()
    try:
        fastavro.schemaless_writer(written, _bare(types, schema), _value(types, schema, default))
    except UNFIT as error:
        raise SchemaError(f"the default of {where} does not fit its type: {error}") from error
    return written.getvalue()


def _bare(types: AvroTypes, schema: Any) -> Any:
    """A schema without logical types and without names that refer elsewhere; of a type that a column can hold."""
    known = types.known(schema)
    if isinstance(known, list):
        return [_bare(types, branch) for branch in known]
    bare = {name: value for name, value in known.items() if name not in ("logicalType", "default", "aliases")}
    if "fields" in bare:
        bare["fields"] = [{"name": one["name"], "type": _bare(types, one["type"])} for one in bare["fields"]]
        bare["name"] = f"{bare['name']}_{id(bare)}"  # the same type may stand there twice
    elif "name" in bare:
        bare["name"] = f"{bare['name']}_{id(bare)}"
    for inner in ("items", "values"):
        if inner in bare:
            bare[inner] = _bare(types, bare[inner])
    return bare


def _value(types: AvroTypes, schema: Any, default: Any) -> Any:
    """A default's JSON as fastavro writes it: bytes stand there as text, one character a byte."""
    known = types.known(schema)
    if isinstance(known, list):
        for branch in known:
            if _could_be(types.known(branch), default):
                return _value(types, branch, default)
        return default
    match known["type"]:
        case "bytes" | "fixed" if isinstance(default, str):
            return default.encode("latin-1")
        case "record" | "error" if isinstance(default, dict):
            given = {one["name"]: one["default"] for one in known["fields"] if "default" in one} | default
            kinds = {one["name"]: one["type"] for one in known["fields"]}
            return {name: _value(types, kinds[name], value) for name, value in given.items() if name in kinds}
        case "array" if isinstance(default, list):
            return [_value(types, known["items"], one) for one in default]
        case "map" if isinstance(default, dict):
            return {name: _value(types, known["values"], one) for name, one in default.items()}
    return default


_JSON: dict[str, type | tuple[type, ...]] = {
    "null": type(None), "boolean": bool, "int": int, "long": int, "float": (int, float), "double": (int, float),
    "record": dict, "error": dict, "map": dict, "array": list,
}  # fmt: skip


def _could_be(known: Any, default: Any) -> bool:
    kind = _JSON.get(known["type"], str)
    return isinstance(default, kind) and (isinstance(default, bool) == (known["type"] == "boolean"))
