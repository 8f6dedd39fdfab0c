"""Decodes Avro's bytes to Python values, as a plan of :mod:`oncelog.schemas.avro.resolution` says. Pure.

The values are those that fastavro would return; two records share no objects. :data:`PYTHON` is for programs,
:data:`EXACT` and :data:`RAW` are for conversion to other formats: in these, times are numbers, whatever their year, and
the types of unions are named.
"""

from __future__ import annotations

import datetime
import struct
import uuid
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, NamedTuple

from oncelog.schemas.avro.resolution import PlanKind, ReadPlan
from oncelog.schemas.avro.source import AvroSource, check_boolean, check_text
from oncelog.schemas.avro.types import NULL, NamedTypes, branch_name, logical_type, scale_between
from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch

Read = Callable[[AvroSource], Any]
MAX_DEPTH = 200
"""The maximum nesting of a value that is skipped."""
_EVERY_DIGIT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LOCAL_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_DAY_MICROSECONDS = 86_400_000_000


class Form(NamedTuple):
    """The form of the decoded values.

    :param has_times: dates and times are Python objects; otherwise they are numbers of days or microseconds.
    :param names_types: a value of a union of several types is a pair of the type's name and the value.
    :param is_raw: a decimal number and a UUID are values of their underlying type, bytes or text.
    """

    has_times: bool
    names_types: bool
    is_raw: bool = False


PYTHON = Form(has_times=True, names_types=False)
NAMED = Form(has_times=True, names_types=True)
EXACT = Form(has_times=False, names_types=True)
RAW = Form(has_times=False, names_types=True, is_raw=True)


class ValueReader:
    """Reads values that were written with one schema, as values of a reader's schema.

    :param reader: the types of the reader's schema.
    """

    def __init__(self, plan: ReadPlan, reader: NamedTypes, form: Form) -> None:
        self._read = _Functions(reader, form).of(plan)

    def read(self, payload: bytes) -> Any:
        """Decode a payload.

        :raises SchemaMismatch: the reader's schema cannot accept the value.
        :raises SchemaError: the bytes do not fit the writer's schema.
        """
        source = AvroSource(payload)
        try:
            value = self._read(source)
        except RecursionError:
            raise SchemaError("it nests too deeply") from None
        except (ArithmeticError, MemoryError) as error:
            raise SchemaError(f"a number is too large: {type(error).__name__}") from None
        if source.position != source.end:
            raise SchemaError(f"{source.end - source.position} bytes are left over")
        return value


class _Functions:
    """Builds a reading function for each part of a plan."""

    def __init__(self, reader: NamedTypes, form: Form) -> None:
        self._reader = reader
        self._form = form
        self._made: dict[int, Read] = {}

    def of(self, plan: ReadPlan) -> Read:
        key = id(plan)
        if key not in self._made:
            # a placeholder for the reader that is being built, because a type may contain itself
            self._made[key] = lambda source: self._made[key](source)
            self._made[key] = self._new(plan)
        return self._made[key]

    def _new(self, plan: ReadPlan) -> Read:
        match plan.kind:
            case PlanKind.FAIL:
                return _failing(plan.extra)
            case PlanKind.SKIP:
                return _skipping(plan.writer, [self.of(part) for part in plan.parts])
            case PlanKind.REST:
                return (
                    AvroSource.rest
                    if plan.reader["type"] == "bytes"
                    else lambda source: check_text(source.rest()).decode()
                )
            case PlanKind.PLAIN:
                return _plain(plan.writer, plan.reader, self._form)
            case PlanKind.RECORD:
                return self._record(plan)
            case PlanKind.DEFAULT:
                inner, written = self.of(plan.parts[0]), plan.extra
                return lambda source: inner(AvroSource(written))
            case PlanKind.MEMBER:
                return self._member(plan)
            case PlanKind.UNION:
                return _union([self.of(part) for part in plan.parts])
            case PlanKind.ARRAY:
                return _array(self.of(plan.parts[0]))
            case PlanKind.MAP:
                return _map(self.of(plan.parts[0]))

    def _member(self, plan: ReadPlan) -> Read:
        inner = self.of(plan.parts[0])
        known = self._reader.known(plan.reader[plan.extra])
        if not self._form.names_types or known == NULL or len(self._reader.kinds(plan.reader)) < 2:
            return inner
        name = branch_name(known)
        return lambda source: (name, inner(source))

    def _record(self, plan: ReadPlan) -> Read:
        names = [one["name"] for one in plan.reader["fields"]]
        parts = [
            (None if position is None else names[position], self.of(part))
            for position, part in zip(plan.extra, plan.parts, strict=True)
        ]

        def record(source: AvroSource) -> dict[str, Any]:
            found: dict[str, Any] = dict.fromkeys(names)
            for name, read in parts:
                value = read(source)
                if name is not None:
                    found[name] = value
            return found

        return record


def _failing(text: str) -> Read:
    def fail(source: AvroSource) -> Any:
        raise SchemaMismatch(text)

    return fail


def _union(inner: list[Read]) -> Read:
    def union(source: AvroSource) -> Any:
        branch = source.whole()
        if not 0 <= branch < len(inner):
            raise SchemaError(f"a union has no branch {branch}")
        return inner[branch](source)

    return union


def _array(item: Read) -> Read:
    return lambda source: [item(source) for count in source.counts() for _ in range(count)]


def _map(value: Read) -> Read:
    return lambda source: {_text(source): value(source) for count in source.counts() for _ in range(count)}


# --- values that hold no others


def _plain(writer: Any, reader: Any, form: Form) -> Read:
    raw = _raw(writer, reader)
    convert = _conversion(reader, form)
    return raw if convert is None else lambda source: convert(raw(source))


def _raw(writer: Any, reader: Any) -> Read:
    """Returns a function that reads a value as its underlying type: a number of days or microseconds, bytes, or
    text."""
    wrote, reads = writer["type"], reader["type"]
    match wrote:
        case "int" | "long":
            return _number(32 if wrote == "int" else 64, reads, *scale_between(writer, reader))
        case "float" | "double":
            packed = _FLOAT if wrote == "float" else _DOUBLE
            return lambda source: packed.unpack(source.take(packed.size))[0]
        case "string" | "bytes":
            return _text if reads == "string" else _bytes
        case "fixed":
            size = writer["size"]
            return lambda source: source.take(size)
        case "enum":
            return _enum(writer, reader)
        case "boolean":
            return lambda source: bool(check_boolean(source.take(1)[0]))
    return lambda source: None


def _number(bits: int, reads: str, factor: int, divisor: int) -> Read:
    if reads == "double":
        return lambda source: float(source.whole(bits))
    if reads == "float":
        return lambda source: _FLOAT.unpack(_FLOAT.pack(source.whole(bits)))[0]
    if factor == divisor == 1:
        return lambda source: source.whole(bits)
    return lambda source: source.whole(bits) * factor // divisor


def _bytes(source: AvroSource) -> bytes:
    return source.take(source.whole())


def _text(source: AvroSource) -> str:
    return check_text(source.take(source.whole())).decode()


def _enum(writer: Any, reader: Any) -> Read:
    known, default = set(reader["symbols"]), reader.get("default")
    symbols = [symbol if symbol in known else default for symbol in writer["symbols"]]

    def symbol(source: AvroSource) -> str:
        index = source.whole(32)
        if not 0 <= index < len(symbols):
            raise SchemaError(f"an enum has no symbol {index}")
        found = symbols[index]
        if found is None:
            raise SchemaMismatch(no_symbol(index))
        return str(found)

    return symbol


def no_symbol(index: int) -> str:
    """The error message for a symbol of the writer that the reader's enum lacks."""
    return f"symbol {index} of an enum is none of the reader's, which has no default"


def _conversion(reader: Any, form: Form) -> Callable[[Any], Any] | None:
    """The function that converts a value by its logical type; None if the value stays as it is."""
    logical = None if form.is_raw else logical_type(reader)
    match logical:
        case "decimal":
            return decimal_of(reader.get("scale", 0))
        case "uuid":
            return uuid_of
        case "date" | "time-millis" | "time-micros" if form.has_times:
            return {"date": date_of, "time-millis": _time_of_millis, "time-micros": time_of}[logical]
        case "timestamp-millis" | "timestamp-micros" if form.has_times:
            return moment_of
        case "local-timestamp-millis" | "local-timestamp-micros" if form.has_times:
            return local_moment_of
    return None


def decimal_of(scale: int) -> Callable[[bytes], Decimal]:
    """The function that decodes a decimal number of this scale from bytes, with every digit."""
    return lambda data: Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, _EVERY_DIGIT)


def uuid_of(value: str | bytes) -> uuid.UUID:
    """A UUID from its text or its 16 bytes.

    :raises SchemaError: a string is not a UUID.
    """
    if isinstance(value, bytes):
        return uuid.UUID(bytes=value)
    try:
        return uuid.UUID(value)
    except ValueError:
        raise SchemaError(f"the string {value[:80]!r} is not a UUID") from None


def date_of(days: int) -> datetime.date:
    """The date this many days after 1970-01-01.

    :raises SchemaError: Python cannot represent the date.
    """
    try:
        return datetime.date.fromordinal(days + _FIRST_DAY)
    except (ValueError, OverflowError):
        raise SchemaError(f"the date {days} days after 1970-01-01 is not in {_YEARS}") from None


def moment_of(microseconds: int) -> datetime.datetime:
    """The time in UTC this many microseconds after 1970-01-01.

    :raises SchemaError: Python cannot represent the time.
    """
    return _after(_EPOCH, microseconds)


def local_moment_of(microseconds: int) -> datetime.datetime:
    """The time without a zone this many microseconds after 1970-01-01.

    :raises SchemaError: Python cannot represent the time.
    """
    return _after(_LOCAL_EPOCH, microseconds)


_YEARS = "the years 1 to 9999, which are all that Python has"


def _after(epoch: datetime.datetime, microseconds: int) -> datetime.datetime:
    try:
        return epoch + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        raise SchemaError(f"the time {microseconds} microseconds after 1970 is not in {_YEARS}") from None


def _time_of_millis(milliseconds: int) -> datetime.time:
    return time_of(milliseconds * 1000)


def time_of(microseconds: int) -> datetime.time:
    """The time of day this many microseconds after midnight.

    :raises SchemaError: a day is not that long.
    """
    if not 0 <= microseconds < _DAY_MICROSECONDS:
        raise SchemaError(f"a time of day is {microseconds} microseconds after midnight")
    seconds, rest = divmod(microseconds, 1_000_000)
    return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest)


# --- values that are left out


def _skipping(writer: Any, inner: list[Read]) -> Read:
    if isinstance(writer, list):
        return _union(inner)
    match writer["type"]:
        case "record" | "error":
            return _skip_record(inner)
        case "array" | "map":
            return _skip_items(inner, is_map=writer["type"] == "map")
        case "int" | "long" | "enum":
            return AvroSource.whole
        case "string" | "bytes":
            return _bytes
        case kind:
            size = writer["size"] if kind == "fixed" else SIZES[kind]
            return lambda source: source.take(size)


SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


def _skip_record(inner: list[Read]) -> Read:
    def record(source: AvroSource) -> None:
        source.depth += 1
        if source.depth > MAX_DEPTH:
            raise SchemaError(f"it is nested more than {MAX_DEPTH} levels deep")
        for skip in inner:
            skip(source)
        source.depth -= 1

    return record


def _skip_items(inner: list[Read], *, is_map: bool) -> Read:
    def items(source: AvroSource) -> None:
        for count in source.counts(sized=True):
            for _ in range(count):
                if is_map:
                    _bytes(source)
                inner[0](source)

    return items
