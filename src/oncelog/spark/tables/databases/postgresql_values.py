"""Converts rows to CSV for PostgreSQL's COPY, in which an empty field is NULL, and an empty text is in quotes.

Called by :mod:`oncelog.spark.tables.databases.postgresql_copy`, in tasks and on the driver. PostgreSQL parses each
value as its column's type, and refuses what it cannot parse; values that it would silently round or truncate are
refused here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from oncelog.records.arrow_moments import moment_texts, sql_day
from oncelog.spark.tables.databases.postgresql_columns import TableColumn, in_query
from oncelog.spark.tables.databases.texts import first_invalid, first_of, row_of, shown
from oncelog.spark.tables.store import TableRefused

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS = ("int2", "int4", "int8", "oid")
_MONEY_SCALE = 2
_NAME_BYTES = 63
_DOUBLE_DIGITS, _REAL_DIGITS = 15, 6
"""The number of decimal digits that a binary number always keeps (``DBL_DIG``, ``FLT_DIG``)."""


class _Lost(Exception):
    """PostgreSQL would store a value other than the given one.

    :param values: a column, or the elements of its arrays.
    :param index: the value's index among ``values``.
    :param why: how the column would change the value.
    :param advice: the remedy.
    :param expression: an expression for the query, with ``{}`` for the value; empty if there is none.
    """

    def __init__(self, values: pa.Array, index: int, why: str, advice: str, expression: str = "") -> None:
        super().__init__(why)
        self.values, self.index, self.why, self.advice, self.expression = values, index, why, advice, expression


def csv_of(batch: pa.RecordBatch, columns: Sequence[TableColumn], table: str) -> bytes:
    """The rows as CSV. Raises TableRefused for a value that a column would change.

    :param columns: the table's columns, in the order of the rows' columns.
    :param table: the table's name, for messages.
    """
    import pyarrow as pa
    from pyarrow import csv

    texts = []
    for column, values in zip(columns, batch.columns, strict=True):
        try:
            texts.append(_texts(values, column))
        except _Lost as lost:
            row = f" ({row_of(batch, lost.index)})" if lost.values is values else ""
            raise TableRefused(
                f"A row for {table}{row} has {_shown(lost.values, lost.index)} in column {column.name}, which is "
                f"{column.type} and {lost.why}: {_advice(lost, values.type, column)}"
            ) from None
    written = pa.Table.from_arrays(texts, names=[str(number) for number in range(len(texts))])
    sink = pa.BufferOutputStream()
    csv.write_csv(written, sink, csv.WriteOptions(include_header=False, quoting_style="needed"))
    return bytes(sink.getvalue())


def _advice(lost: _Lost, kind: pa.DataType, column: TableColumn) -> str:
    """The advice; includes an expression for the query unless the value is inside a text or a map."""
    import pyarrow as pa

    depth = 0
    while pa.types.is_list(kind):
        kind, depth = kind.value_type, depth + 1
    inside = pa.types.is_map(kind) or (pa.types.is_string(kind) and column.is_array and not depth)
    if not lost.expression or inside:
        return lost.advice
    return f"{lost.advice}, {in_query(lost.expression, column.name, depth)}"


def _shown(values: pa.Array, index: int) -> str:
    import pyarrow as pa

    if pa.types.is_string(values.type):
        data = values.cast(pa.binary())[index].as_py()
        return shown(data.decode(errors="backslashreplace"))
    return shown(values[index].as_py())


# --- texts

_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"'})


def _texts(values: pa.Array, column: TableColumn, inner: bool = False) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_list(values.type):
        return pa.array(_arrays(values, column, inner=False), pa.string())
    if pa.types.is_map(values.type):
        for part in (values.keys, values.items):
            _check(part, column)
        return pa.array([None if pairs is None else _hstore(pairs) for pairs in values.to_pylist()], pa.string())
    _check(values, column, inner)
    return _plain_texts(values, column)


def _plain_texts(values: pa.Array, column: TableColumn) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_string(kind):
        return values
    if pa.types.is_binary(kind):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in values.to_pylist()], pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return moment_texts(values, day=sql_day)
    if column.leaf in _INTEGERS and (pa.types.is_decimal(kind) or pa.types.is_floating(kind)):
        return pa.array([None if value is None else _whole(value) for value in values.to_pylist()], pa.string())
    if pa.types.is_float32(kind) and column.leaf == "float8":
        values = values.cast(pa.float64())
    return pc.cast(values, pa.string())


def _whole(value: float | Decimal) -> str:
    """A whole number as its digits without a fraction; any other value unchanged, so that PostgreSQL refuses it."""
    number = Decimal(value)
    return format(number.to_integral_value(), "f") if number.is_finite() and number % 1 == 0 else str(value)


def _arrays(values: pa.Array, column: TableColumn, *, inner: bool) -> list[str | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.list_value_length(values).to_pylist()
    elements = values.flatten()
    if inner and not all(lengths):
        index = next(index for index, length in enumerate(lengths) if not length)
        raise TableRefused(
            f"A row has {values[index].as_py()} inside an array of column {column.name}, which is {column.type}: "
            "PostgreSQL's arrays hold no empty arrays and no NULL in the place of one; leave them out in the query, "
            "filter(..., x -> size(x) > 0)"
        )
    if pa.types.is_list(elements.type):
        texts = _arrays(elements, column, inner=True)
    else:
        inner_texts = _texts(elements, column, inner=True).to_pylist()
        texts = [None if text is None else f'"{text.translate(_QUOTED)}"' for text in inner_texts]
    found: list[str | None] = []
    begin = 0
    for length in lengths:
        end = begin + (length or 0)
        inside = column.delimiter.join(text or "NULL" for text in texts[begin:end])
        found.append(None if length is None else f"{{{inside}}}")
        begin = end
    return found


def _hstore(pairs: Sequence[tuple[str, str | None]]) -> str:
    return ", ".join(
        f'"{key.translate(_QUOTED)}"=>' + ("NULL" if value is None else f'"{value.translate(_QUOTED)}"')
        for key, value in pairs
    )


# --- values that would change


def _check(values: pa.Array, column: TableColumn, inner: bool = False) -> None:
    """Raises _Lost for the first value that the column would change.

    :param inner: whether the values are inside the column's arrays.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_string(kind):
        _check_text(values, column)
        if column.is_array and not inner and column.leaf not in _VECTORS:
            values = _elements(values)
        _check_text_value(values, column)
    elif pa.types.is_timestamp(kind):
        if column.leaf in ("timestamp", "timestamptz") and 0 <= column.modifier < 6:
            _check_fraction(values, column)
    elif column.leaf in ("numeric", "money"):
        _check_scale(values, column)
    elif column.leaf == "float8" and (pa.types.is_int64(kind) or pa.types.is_decimal(kind)):
        _check_digits(values, _DOUBLE_DIGITS, _as_double)
    elif column.leaf == "float4" and not pa.types.is_float32(kind):
        _check_digits(values, _REAL_DIGITS, _as_real)
    elif column.leaf in _WITHOUT_SIGN:
        index = first_of(pc.less(values, 0))
        if index is not None:
            raise _Lost(values, index, _OF_THE_UPPER_END, "leave such rows out in the query")


def _as_double(value: int | Decimal) -> Decimal:
    return Decimal(repr(float(value)))


def _as_real(value: int | Decimal) -> Decimal:
    import numpy as np

    return Decimal(str(np.float32(value)))


def _check_digits(values: pa.Array, digits: int, stored: Callable[[Any], Decimal]) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(values.type) and values.type.precision <= digits:
        return
    ends = pc.min_max(values).as_py()
    if pa.types.is_integer(values.type) and (ends["min"] is None or max(map(abs, ends.values())) <= 10**digits):
        return
    for index, value in enumerate(values.to_pylist()):
        if value is not None and stored(value) != value:
            raise _other_number(values, index, stored(value))


def _other_number(values: pa.Array, index: int, stored: Decimal) -> _Lost:
    advice = "change the column to numeric, or cast it to double or float in the query"
    return _Lost(values, index, f"would hold {stored}", advice)


def _check_fraction(values: pa.Array, column: TableColumn) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = 10 ** (6 - column.modifier)
    micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    rounded = pc.multiply_checked(pc.divide(micros, unit), unit)
    index = first_of(pc.not_equal(rounded, micros))
    if index is not None:
        cut = f"timestamp_micros(floor(unix_micros({{}}) / {unit}) * {unit})"
        local = f"cast({cut.format('cast({} as timestamp)')} as timestamp_ntz)"
        advice = "change the column's precision, or cut it in the query"
        raise _Lost(values, index, "would round it", advice, local if values.type.tz is None else cut)


def _scale(column: TableColumn) -> int | None:
    """The number of digits after the decimal point that a column stores; None if unlimited. If it is negative, the
    column rounds before the point (PostgreSQL 15)."""
    if column.leaf == "money":
        return _MONEY_SCALE
    return None if column.modifier < 0 else (((column.modifier - 4) & 0x7FF) ^ 1024) - 1024


def _check_scale(values: pa.Array, column: TableColumn) -> None:
    import pyarrow as pa

    scale = _scale(column)
    kind = values.type
    if (
        scale is None
        or (pa.types.is_integer(kind) and scale >= 0)
        or (pa.types.is_decimal(kind) and kind.scale <= scale)
    ):
        return
    for index, value in enumerate(_plain_texts(values, column).to_pylist()):
        if value is not None and not _fits(value, scale):
            raise _rounded(values, index, scale)


def _rounded(values: pa.Array, index: int, scale: int) -> _Lost:
    return _Lost(values, index, "would round it", "round it in the query", f"round({{}}, {scale})")


def _fits(text: str, scale: int) -> bool:
    """Whether a number has at most ``scale`` digits after the decimal point; True for text that is no number, which
    PostgreSQL refuses."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return True
    if not number.is_finite() or not number:
        return True
    _, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits))
    return isinstance(exponent, int) and exponent + len(written) - len(written.rstrip("0")) >= -scale


_ZONE = (
    r"(?i)([0-9]{2}(:[0-9]{2}(\.[0-9]+)?|[0-9]{4}(\.[0-9]+)?)|t[0-9]{4}) *([ap]m|ad|bc)?"
    r" *([+-] *[0-9]|z($|[^a-z])|[a-z]{3,}|[a-z]{2,}/)"
    r"| [0-9]{4} *z($|[^a-z])|[0-9]-[0-9]{2}-[0-9]{2} *([+-] *[0-9]|z($|[^a-z])|utc|gmt)"
)
"""Matches a zone behind a time or behind a date alone. Three letters may also be a day's or a month's name."""
_NO_ZONE = (_ZONE, "would drop its zone", "cast(cast({} as timestamp) as timestamp_ntz)")
_DAY_OF = r"[0-9]-[0-9a-zA-Z]+-[0-9]|[0-9]/[0-9]+/[0-9]|[0-9]\.[0-9]+\.[0-9]|(^|[^0-9.])[0-9]{8}"
_DIGITS_OF_TIME = r"[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9]|0000[0-9]?[1-9]|0{6}\.[0-9]*[1-9]"
"""Matches a time without colons, ``hhmm`` or ``hhmmss``, other than midnight."""
_NO_TIME = (
    r"(?i)(^|[t ]) *[0-9]*[1-9][0-9]*:[0-9]|:[0-9.]*[1-9]|[0-9]t[0-9.]*[1-9]"
    rf"|([0-9]{{4}}|{_DAY_OF})[^,]*[t ]({_DIGITS_OF_TIME})",
    "would drop its time",
    "cast({} as date)",
)
_WITHOUT_SIGN = ("oid", "xid", "cid", "xid8")
_OF_THE_UPPER_END = "would hold a number at the upper end of the type"
_CUT: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    **dict.fromkeys(_WITHOUT_SIGN, ((r"^\s*-\s*0*[1-9]", _OF_THE_UPPER_END, ""),)),
    "timestamp": (_NO_ZONE,),
    "tsrange": ((*_NO_ZONE[:2], ""),),
    "tsmultirange": ((*_NO_ZONE[:2], ""),),
    "time": (
        (_ZONE, "would drop its zone", "substr({}, 1, 8)"),
        (_DAY_OF, "would drop its day", "date_format({}, 'HH:mm:ss.SSSSSS')"),
    ),
    "timetz": ((_DAY_OF, "would drop its day", "date_format({}, 'HH:mm:ss.SSSSSSXXX')"),),
    "date": (_NO_TIME,),
    "daterange": ((*_NO_TIME[:2], ""),),
    "datemultirange": ((*_NO_TIME[:2], ""),),
}
"""By the column's type, patterns of texts from which PostgreSQL would drop a part, with the expression to write in the
query instead."""
_RANGES_OF_TIMES = ("tsrange", "tsmultirange", "tstzrange", "tstzmultirange")
_WITH_FRACTION = ("timestamp", "timestamptz", "time", "timetz", "interval", *_RANGES_OF_TIMES)
_VECTORS = ("int2vector", "oidvector")
"""Types that PostgreSQL treats as arrays although their text form is not an array's."""
_ELEMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|([^{},"\\\s](?:[^{},"\\]|\\.)*)', re.DOTALL)
"""Matches one element of an array's text, with or without quotes."""


def _elements(values: pa.Array) -> pa.Array:
    """The elements of arrays in text form; NULL elements are left out."""
    import pyarrow as pa

    found = []
    for text in values.to_pylist():
        body = (text or "").partition("=")[2] if (text or "").startswith("[") else text or ""
        for quoted, plain in _ELEMENT.findall(body):
            if quoted or plain.strip().upper() != "NULL":
                found.append(re.sub(r"\\(.)", r"\1", quoted or plain.rstrip(), flags=re.DOTALL))
    return pa.array(found, pa.string())


def _check_text(values: pa.Array, column: TableColumn) -> None:
    """Raises _Lost for a text that PostgreSQL cannot store in any column."""
    import pyarrow.compute as pc

    index = first_invalid(values)
    if index is not None:
        advice = "decode it in the query with its own character set"
        raise _Lost(values, index, "takes no bytes that are not UTF-8", advice, "decode(bytes, 'ISO-8859-1')")
    index = first_of(pc.match_substring(values, "\0"))
    if index is not None:
        why = "cannot hold the character NUL"
        raise _Lost(values, index, why, "leave it out in the query", "replace({}, char(0))")


def _check_text_value(values: pa.Array, column: TableColumn) -> None:
    """Raises _Lost for a text that PostgreSQL would change."""
    import pyarrow.compute as pc

    for pattern, why, cast in _CUT.get(column.leaf, ()):
        index = first_of(pc.match_substring_regex(values, pattern))
        if index is not None:
            raise _Lost(values, index, why, "leave it out in the query", cast)
    if column.attributes:
        _check_attributes(values, column)
    elif column.leaf in _WITH_FRACTION:
        _check_text_fraction(values, column)
    elif column.leaf in ("varchar", "name", "char"):
        _check_length(values, column)
    elif column.leaf in ("numeric", "money"):
        _check_text_scale(values, column)
    elif column.leaf == "float8":
        _check_text_digits(values, _DOUBLE_DIGITS, _as_double)
    elif column.leaf == "float4":
        _check_text_digits(values, _REAL_DIGITS, _as_real)


def _check_text_fraction(values: pa.Array, column: TableColumn) -> None:
    """Raises _Lost for a text with more digits of a second than the column stores."""
    import pyarrow.compute as pc

    digits = min(column.modifier & 0xFFFF, 6) if column.modifier >= 0 else 6
    if column.leaf == "interval":
        index = _first_rounded_interval(values, digits)
    else:
        index = first_of(pc.match_substring_regex(values, rf"\.[0-9]{{{digits}}}[0-9]*[1-9]"))
    if index is not None:
        raise _Lost(values, index, "would round it", f"write {digits} digits after the decimal point in the query")


_SECOND, _DAY = 1_000_000, 86_400_000_000
_MICROSECONDS = {
    **dict.fromkeys(("us", "usec", "usecs", "usecond", "useconds", "microsecond", "microseconds"), 1),
    **dict.fromkeys(("ms", "msec", "msecs", "msecond", "mseconds", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60 * _SECOND),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600 * _SECOND),
    **dict.fromkeys(("d", "day", "days"), _DAY),
    **dict.fromkeys(("w", "week", "weeks"), 7 * _DAY),
    **dict.fromkeys(("mon", "mons", "month", "months"), 30 * _DAY),
    **dict.fromkeys(("y", "yr", "yrs", "year", "years", "dec", "decs", "decade", "decades"), 0),
    **dict.fromkeys(("c", "cent", "cents", "century", "centuries"), 0),
    **dict.fromkeys(("mil", "mils", "millennium", "millennia"), 0),
}
"""The number of microseconds in each unit of an interval's text. Units of a year and more count 0, because their
fractions are whole months. A number with any other unit is in seconds."""
_ISO_DAYS = {"y": 0, "m": 30 * _DAY, "w": 7 * _DAY, "d": _DAY}
_COUNTED = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s*([A-Za-z]*)")
"""Matches a number and its unit in the text of an interval."""


def _first_rounded_interval(values: pa.Array, digits: int) -> int | None:
    """The index of the first interval with more digits of a second than ``digits``; a text that is no interval is left
    for PostgreSQL to refuse."""
    unit = 10 ** (6 - digits)
    for index, text in enumerate(values.to_pylist()):
        try:
            if text is not None and _microseconds(text) % unit:
                return index
        except InvalidOperation:
            continue  # the value is too large for an interval
    return None


def _microseconds(text: str) -> Decimal:
    """The microseconds in the text of an interval, without its whole months."""
    days, _, clock = text.partition("T") if re.match(r"\s*[+-]?P", text) else ("", "", text)
    found = Decimal(0)
    for part, units in ((days, _ISO_DAYS), (clock, _MICROSECONDS)):
        for number, unit in _COUNTED.findall(part):
            found += Decimal(number) * units.get(unit.lower(), _SECOND)
    return found


def _check_attributes(values: pa.Array, column: TableColumn) -> None:
    """Check the attributes in texts of composite values; PostgreSQL itself refuses malformed texts."""
    import pyarrow as pa

    rows = [_parts(text) for text in values.to_pylist() if text is not None]
    for number, attribute in enumerate(column.attributes):
        try:
            _check(pa.array([row[number] for row in rows if number < len(row)], pa.string()), attribute)
        except _Lost as lost:
            why = f"whose {attribute.name}, {attribute.type}, {lost.why}"
            raise _Lost(lost.values, lost.index, why, lost.advice) from None


def _parts(text: str) -> list[str | None]:
    """The texts of the attributes in the text of a composite value; empty if the text has another form."""
    text = text.strip()
    if not (text.startswith("(") and text.endswith(")")):
        return []
    found: list[str | None] = []
    part: str | None = None
    quoted, at, body = False, 0, f"{text[1:-1]},"
    while at < len(body):
        char = body[at]
        if char == "," and not quoted:
            found.append(part)
            part = None
        elif char == "\\" or (quoted and body.startswith('""', at)):
            at += 1
            part = (part or "") + body[at]
        elif char == '"':
            quoted, part = not quoted, part or ""
        else:
            part = (part or "") + char
        at += 1
    return found


_CUT_AT = {"name": _NAME_BYTES, "char": 1}
"""The maximum length in bytes of a text of these types; PostgreSQL truncates longer texts. ``"char"`` is not
``char(n)``, which is ``bpchar``."""


def _check_length(values: pa.Array, column: TableColumn) -> None:
    import pyarrow.compute as pc

    if column.leaf in _CUT_AT:
        most = _CUT_AT[column.leaf]
        index = first_of(pc.greater(pc.binary_length(values), most))
        if index is not None:
            raise _Lost(values, index, f"would cut it (maximum bytes: {most})", "shorten it in the query")
    elif column.modifier >= 4:
        most = column.modifier - 4
        longer = pc.greater(pc.utf8_length(values), most)
        index = first_of(pc.and_(longer, pc.less_equal(pc.utf8_length(pc.utf8_rtrim(values, " ")), most)))
        if index is not None:
            raise _Lost(values, index, "would drop spaces at its end", "drop them in the query", "rtrim({})")


def _check_text_scale(values: pa.Array, column: TableColumn) -> None:
    import pyarrow.compute as pc

    scale = _scale(column)
    suspicious = r"[.eE]" if scale is None or scale >= 0 else r"[0-9]"
    if scale is None or not pc.any(pc.match_substring_regex(values, suspicious)).as_py():
        return
    for index, text in enumerate(values.to_pylist()):
        number = re.sub(r"[^0-9.]", "", text or "") if column.leaf == "money" else (text or "").strip()
        if re.search(suspicious, number) and not _fits(number, scale):
            raise _rounded(values, index, scale)


def _check_text_digits(values: pa.Array, digits: int, stored: Callable[[Decimal], Decimal]) -> None:
    """Raises _Lost for a number as text that has more digits than a binary floating-point number stores; PostgreSQL
    itself refuses texts that are no numbers.
    """
    import pyarrow.compute as pc

    if not pc.any(pc.greater(pc.binary_length(values), digits)).as_py():
        return
    for index, text in enumerate(values.to_pylist()):
        if text is None or len(text) <= digits:
            continue
        try:
            number = Decimal(text)
        except InvalidOperation:
            continue
        if number.is_finite() and stored(number) not in (number, Decimal("Infinity"), Decimal("-Infinity")):
            raise _other_number(values, index, stored(number))
