"""Rows as PostgreSQL's COPY takes them: CSV, in which an empty field is NULL, and an empty text is in quotes.

Called by :mod:`oncelog.spark.tables.databases.postgresql_copy`, in tasks and on the driver. PostgreSQL reads each value
as its column's type, and refuses what it cannot read; what it would round, or cut, without a word is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from oncelog.records.arrow_moments import moment_texts, sql_day
from oncelog.spark.tables.databases.postgresql_columns import TableColumn
from oncelog.spark.tables.databases.texts import first_invalid, first_of, row_of, shown
from oncelog.spark.tables.store import TableRefused

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS = ("int2", "int4", "int8", "oid")
_MONEY_SCALE = 2
_NAME_BYTES = 63
_DOUBLE_DIGITS, _REAL_DIGITS = 15, 6
"""So many decimal digits a binary number always keeps (``DBL_DIG``, ``FLT_DIG``)."""


class _Lost(Exception):
    """PostgreSQL would store another value.

    :param values: a column, or what is in its arrays.
    :param index: of the value among them.
    :param why: what the column would make of it.
    :param advice: what to write in the query.
    """

    def __init__(self, values: pa.Array, index: int, why: str, advice: str) -> None:
        super().__init__(why)
        self.values, self.index, self.why, self.advice = values, index, why, advice


def csv_of(batch: pa.RecordBatch, columns: Sequence[TableColumn], table: str) -> bytes:
    """The rows. Raises TableRefused for a value that a column would change.

    :param columns: those of the table, in the order of the rows'.
    :param table: its name, for messages.
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
                f"{column.type} and {lost.why}: {lost.advice}"
            ) from None
    written = pa.Table.from_arrays(texts, names=[str(number) for number in range(len(texts))])
    sink = pa.BufferOutputStream()
    csv.write_csv(written, sink, csv.WriteOptions(include_header=False, quoting_style="needed"))
    return bytes(sink.getvalue())


def _shown(values: pa.Array, index: int) -> str:
    import pyarrow as pa

    if pa.types.is_string(values.type):
        data = values.cast(pa.binary())[index].as_py()
        return shown(data.decode(errors="backslashreplace"))
    return shown(values[index].as_py())


# --- texts

_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"'})


def _texts(values: pa.Array, column: TableColumn) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_list(values.type):
        return pa.array(_arrays(values, column, inner=False), pa.string())
    if pa.types.is_map(values.type):
        for part in (values.keys, values.items):
            _check(part, column)
        return pa.array([None if pairs is None else _hstore(pairs) for pairs in values.to_pylist()], pa.string())
    _check(values, column)
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
    """Digits alone for a whole number; another value as it is, for PostgreSQL to refuse."""
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
        texts = [
            None if text is None else f'"{text.translate(_QUOTED)}"' for text in _texts(elements, column).to_pylist()
        ]
    found: list[str | None] = []
    begin = 0
    for length in lengths:
        end = begin + (length or 0)
        found.append(None if length is None else f"{{{','.join(text or 'NULL' for text in texts[begin:end])}}}")
        begin = end
    return found


def _hstore(pairs: Sequence[tuple[str, str | None]]) -> str:
    return ", ".join(
        f'"{key.translate(_QUOTED)}"=>' + ("NULL" if value is None else f'"{value.translate(_QUOTED)}"')
        for key, value in pairs
    )


# --- values that would change


def _check(values: pa.Array, column: TableColumn) -> None:
    """Raises _Lost for the first value that the column would change."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_string(kind):
        _check_text(values, column)
    elif pa.types.is_timestamp(kind):
        if column.leaf in ("timestamp", "timestamptz") and 0 <= column.modifier < 6:
            _check_fraction(values, column)
    elif column.leaf in ("numeric", "money"):
        _check_scale(values, column)
    elif column.leaf == "float8" and (pa.types.is_int64(kind) or pa.types.is_decimal(kind)):
        _check_digits(values, _DOUBLE_DIGITS, lambda value: Decimal(repr(float(value))))
    elif column.leaf == "float4" and not pa.types.is_float32(kind):
        _check_digits(values, _REAL_DIGITS, _as_real)


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
            why = f"would hold {stored(value)}"
            raise _Lost(values, index, why, "change the column to numeric, or cast it to double or float in the query")


def _check_fraction(values: pa.Array, column: TableColumn) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = 10 ** (6 - column.modifier)
    micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    rounded = pc.multiply_checked(pc.divide(micros, unit), unit)
    index = first_of(pc.not_equal(rounded, micros))
    if index is not None:
        cut = f"timestamp_micros(floor(unix_micros({{}}) / {unit}) * {unit})"
        local = f"cast({cut.format(f'cast({column.name} as timestamp)')} as timestamp_ntz)"
        advice = local if values.type.tz is None else cut.format(column.name)
        raise _Lost(values, index, "would round it", f"cut it in the query, {advice}, or change the column's precision")


def _scale(column: TableColumn) -> int | None:
    """Digits behind the point; a negative one rounds before it (PostgreSQL 15). None: as many as there are."""
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
            raise _rounded(values, index, column, scale)


def _rounded(values: pa.Array, index: int, column: TableColumn, scale: int) -> _Lost:
    return _Lost(values, index, "would round it", f"round it in the query, round({column.name}, {scale})")


def _fits(text: str, scale: int) -> bool:
    """Whether a number has no more digits behind the point; True for what is no number, which PostgreSQL looks at."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return True
    if not number.is_finite() or not number:
        return True
    _, digits, exponent = number.as_tuple()
    written = "".join(map(str, digits))
    return isinstance(exponent, int) and exponent + len(written) - len(written.rstrip("0")) >= -scale


_ZONE = r"(?i)[0-9]{2}(:[0-9]{2}(\.[0-9]+)?|[0-9]{4}(\.[0-9]+)?) *([+-] *[0-9]|z($|[^a-z])|[a-z]{3,}|[a-z]{2,}/)"
_CUT: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "timestamp": ((_ZONE, "would drop its zone", "cast(cast({} as timestamp) as timestamp_ntz)"),),
    "time": (
        (_ZONE, "would drop its zone", "substr({}, 1, 8)"),
        (r"[0-9]-[0-9]+-[0-9]", "would drop its day", "date_format({}, 'HH:mm:ss.SSSSSS')"),
    ),
    "timetz": ((r"[0-9]-[0-9]+-[0-9]", "would drop its day", "date_format({}, 'HH:mm:ss.SSSSSSXXX')"),),
    "date": ((r"[T ] *[0-9]*[1-9][0-9]*:[0-9]|:[0-9]*[1-9]", "would drop its time", "cast({} as date)"),),
}
"""Texts from which PostgreSQL would drop something, by the column's type; with what to write in the query."""
_WITH_FRACTION = ("timestamp", "timestamptz", "time", "timetz")


def _check_text(values: pa.Array, column: TableColumn) -> None:
    import pyarrow.compute as pc

    index = first_invalid(values)
    if index is not None:
        advice = "decode it in the query with its own character set, decode(bytes, 'ISO-8859-1')"
        raise _Lost(values, index, "takes no bytes that are not UTF-8", advice)
    index = first_of(pc.match_substring(values, "\0"))
    if index is not None:
        advice = f"leave it out in the query, replace({column.name}, char(0))"
        raise _Lost(values, index, "cannot hold the character NUL", advice)
    for pattern, why, cast in _CUT.get(column.leaf, ()):
        index = first_of(pc.match_substring_regex(values, pattern))
        if index is not None:
            raise _Lost(values, index, why, f"write {cast.format(column.name)} in the query")
    if column.leaf in _WITH_FRACTION:
        digits = column.modifier if column.modifier >= 0 else 6
        index = first_of(pc.match_substring_regex(values, rf"\.[0-9]{{{digits}}}[0-9]*[1-9]"))
        if index is not None:
            raise _Lost(values, index, "would round it", f"write {digits} digits behind the point in the query")
    elif column.leaf in ("varchar", "name"):
        _check_length(values, column)
    elif column.leaf == "numeric":
        _check_text_scale(values, column)


def _check_length(values: pa.Array, column: TableColumn) -> None:
    import pyarrow.compute as pc

    if column.leaf == "name":
        index = first_of(pc.greater(pc.binary_length(values), _NAME_BYTES))
        if index is not None:
            raise _Lost(values, index, "would cut it", f"shorten it to {_NAME_BYTES} bytes in the query")
    elif column.modifier >= 4:
        most = column.modifier - 4
        longer = pc.greater(pc.utf8_length(values), most)
        index = first_of(pc.and_(longer, pc.less_equal(pc.utf8_length(pc.utf8_rtrim(values, " ")), most)))
        if index is not None:
            advice = f"drop them in the query, rtrim({column.name})"
            raise _Lost(values, index, "would drop spaces at its end", advice)


def _check_text_scale(values: pa.Array, column: TableColumn) -> None:
    import pyarrow.compute as pc

    scale = _scale(column)
    if scale is None or not pc.any(pc.match_substring_regex(values, r"[.eE]")).as_py():
        return
    for index, text in enumerate(values.to_pylist()):
        if text is not None and re.search(r"[.eE]", text) and not _fits(text.strip(), scale):
            raise _rounded(values, index, column, scale)
