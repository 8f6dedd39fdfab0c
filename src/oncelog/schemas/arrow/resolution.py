"""Converts a plan of Avro's schema resolution to steps of the column decoder. Pure."""

from __future__ import annotations

from typing import Any

from oncelog.schemas.arrow.avro_types import AvroTypes, decimal_precision, joined
from oncelog.schemas.arrow.layout import Column, ReadOp, ReadStep
from oncelog.schemas.avro import resolution
from oncelog.schemas.avro.resolution import PlanKind, ReadPlan
from oncelog.schemas.avro.types import NULL, scale_between
from oncelog.schemas.avro.values import SIZES, no_symbol
from oncelog.schemas.schema_errors import SchemaMismatch

_BITS = {"int": 32, "long": 64}
MAX_STEPS = resolution.MAX_PARTS


def resolve(writer: AvroTypes, reader: AvroTypes, column: Column) -> ReadStep:
    """The steps that read the bytes of a value.

    :param column: of the reader.
    :raises SchemaMismatch: the schemas together are too large.
    """
    return _Steps(reader).of(resolution.resolve(writer, reader), column)


def mismatches(step: ReadStep) -> set[str]:
    """The messages of errors that mean that the reader's schema cannot accept a value, rather than that bytes are
    malformed."""
    found: set[str] = set()
    left, seen = [step], set()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        left.extend(one.steps)
        if one.operation is ReadOp.FAIL:
            found.add(one.extra)
        elif one.operation is ReadOp.ENUM:
            found |= {no_symbol(index) for index, symbol in enumerate(one.extra) if symbol is None}
    return found


class _Steps:
    """Converts a plan to steps. A record's plan is converted again wherever it is used, because each place has its own
    columns."""

    def __init__(self, reader: AvroTypes) -> None:
        self._reader = reader
        self._skipped: dict[int, ReadStep] = {}
        self._count = 0

    def of(self, plan: ReadPlan, column: Column) -> ReadStep:
        self._count += 1
        if self._count > MAX_STEPS:
            raise SchemaMismatch("the writer's and the reader's schema together are too large")
        match plan.kind:
            case PlanKind.FAIL:
                return ReadStep(ReadOp.FAIL, extra=plan.extra)
            case PlanKind.SKIP:
                return self._skip(plan)
            case PlanKind.RECORD:
                return self._record(plan, column)
            case PlanKind.UNION:
                return ReadStep(ReadOp.UNION, None, [self.of(part, column) for part in plan.parts])
            case PlanKind.MEMBER:
                return self._member(plan, column)
            case PlanKind.ARRAY:
                return ReadStep(ReadOp.LIST, column, [self.of(plan.parts[0], column.children[0])])
            case PlanKind.MAP:
                return ReadStep(ReadOp.MAP, column, [self.of(plan.parts[0], column.children[1])])
            case PlanKind.DEFAULT:
                return ReadStep(ReadOp.DEFAULT, column, [self.of(plan.parts[0], column)], plan.extra)
            case PlanKind.REST:
                return ReadStep(ReadOp.REST, column, extra=plan.reader["type"] == "string")
            case PlanKind.PLAIN:
                return _plain(plan.writer, plan.reader, column)

    def _record(self, plan: ReadPlan, column: Column) -> ReadStep:
        steps = [
            self._skip(part) if position is None else self.of(part, column.children[position])
            for position, part in zip(plan.extra, plan.parts, strict=True)
        ]
        return ReadStep(ReadOp.RECORD, column, steps)

    def _member(self, plan: ReadPlan, column: Column) -> ReadStep:
        """The step for a value of a union. The union has a column for each of its types, unless one column holds all of
        them."""
        if self._reader.known(plan.reader[plan.extra]) == NULL:
            return ReadStep(ReadOp.NULL, column)
        kinds = self._reader.kinds(plan.reader)
        if len(kinds) == 1 or joined(self._reader, kinds) is not None:
            return self.of(plan.parts[0], column)
        before = [self._reader.known(branch) for branch in plan.reader[: plan.extra]]
        place = len(before) - before.count(NULL)
        return ReadStep(ReadOp.MEMBER, column, [self.of(plan.parts[0], column.children[place])], place)

    def _skip(self, plan: ReadPlan) -> ReadStep:
        found = self._skipped.get(id(plan))
        if found is None:
            self._skipped[id(plan)] = found = _skipping(plan.writer)
            found.steps.extend(self._skip(part) for part in plan.parts)
        return found


def _skipping(writer: Any) -> ReadStep:
    if isinstance(writer, list):
        return ReadStep(ReadOp.SKIP_UNION)
    match writer["type"]:
        case "record" | "error":
            return ReadStep(ReadOp.SKIP_RECORD)
        case "array":
            return ReadStep(ReadOp.SKIP_LIST)
        case "map":
            return ReadStep(ReadOp.SKIP_MAP)
        case "int" | "long" | "enum":
            return ReadStep(ReadOp.SKIP_WHOLE)
        case "string" | "bytes":
            return ReadStep(ReadOp.SKIP_BYTES)
        case kind:
            return ReadStep(ReadOp.SKIP_FIXED, extra=writer["size"] if kind == "fixed" else SIZES[kind])


def _plain(writer: Any, reader: Any, column: Column) -> ReadStep:
    """The step between two primitive types, where the reader accepts the writer's values."""
    wrote, reads = writer["type"], reader["type"]
    precision = decimal_precision(reader)
    match wrote:
        case "int" | "long" if reads in _BITS:
            return _whole(writer, reader, column)
        case "int" | "long":
            return ReadStep(ReadOp.WHOLE_TO_FLOAT, column, extra=_BITS[wrote])
        case "float":
            return ReadStep(ReadOp.FLOAT, column)
        case "double":
            return ReadStep(ReadOp.DOUBLE, column)
        case "bytes" | "fixed" if precision is not None:
            return ReadStep(ReadOp.DECIMAL, column, extra=(writer.get("size", -1), precision))
        case "string" | "bytes":
            return ReadStep(ReadOp.BYTES, column, extra=reads == "string")
        case "fixed":
            return ReadStep(ReadOp.FIXED, column, extra=writer["size"])
        case "enum":
            return _enum(writer, reader, column)
        case "boolean":
            return ReadStep(ReadOp.BOOL, column)
        case _:
            return ReadStep(ReadOp.NULL, column)


def _whole(writer: Any, reader: Any, column: Column) -> ReadStep:
    factor, divisor = scale_between(writer, reader)
    if writer["type"] == "int" and column.arrow_type.bit_width == 32:
        return ReadStep(ReadOp.INT, column)
    return ReadStep(ReadOp.LONG, column, extra=(factor, divisor, _BITS[writer["type"]]))


def _enum(writer: Any, reader: Any, column: Column) -> ReadStep:
    known, default = set(reader["symbols"]), reader.get("default")
    symbols = [symbol if symbol in known else default for symbol in writer["symbols"]]
    return ReadStep(ReadOp.ENUM, column, extra=tuple(None if one is None else one.encode() for one in symbols))
