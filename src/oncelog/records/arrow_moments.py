"""Dates and timestamps of Arrow as text, whatever their year.

Called by what writes text: exports to CSV, tables in SQLite and PostgreSQL. Arrow itself shows a year beyond 32767 as
another year, or not at all (``<value out of range: 106751990>``).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

_UNITS = {"s": (1, 0), "ms": (1000, 3), "us": (1_000_000, 6), "ns": (1_000_000_000, 9)}
"""The number of units in a second, and the number of decimal digits, for each unit of timestamps."""
_FIRST_DAY, _END_DAY = -719_162, 2_932_897
"""The days 0001-01-01 and 10000-01-01, counted from 1970-01-01."""
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400
"""The number of days and of years after which the Gregorian calendar repeats."""

DayText = Callable[[int, str], tuple[str, str]]
"""A function from a year (0 for 1 BC, negative before) and the text of month and day to the text before the time of
day, and the text after it."""


def iso_day(year: int, month_and_day: str) -> tuple[str, str]:
    """The day in the form of ISO 8601: years before 0 and after 9999 have a sign, and as many digits as they need."""
    text = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{text}{month_and_day}", ""


def sql_day(year: int, month_and_day: str) -> tuple[str, str]:
    """The day in the form that PostgreSQL reads: years have no sign, and years before 1 are followed by BC."""
    return (f"{year:04d}{month_and_day}", "") if year > 0 else (f"{1 - year:04d}{month_and_day}", " BC")


def moment_texts(column: pa.Array | pa.ChunkedArray, *, between: str = " ", day: DayText = iso_day) -> pa.Array:
    """A column of date32 or timestamp as text; a timestamp with a time zone in UTC, followed by ``Z``.

    :param between: the separator of day and time.
    """
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    dates = pa.types.is_date32(kind)
    zone = "Z" if not dates and kind.tz is not None else ""
    per_s, digits = (1, 0) if dates else _UNITS[kind.unit]
    per_day = 1 if dates else per_s * 86_400
    whole = column.view(pa.int32() if dates else pa.int64())
    bounds = pc.min_max(whole).as_py()
    if bounds["min"] is None or (bounds["min"] >= _FIRST_DAY * per_day and bounds["max"] < _END_DAY * per_day):
        local = column if dates else whole.view(pa.timestamp(kind.unit))
        return pc.strftime(local, format="%Y-%m-%d" if dates else f"%Y-%m-%d{between}%H:%M:%S{zone}")

    def text(value: int | None) -> str | None:
        if value is None:
            return None
        number, rest = divmod(value, per_day)
        cycles, since = divmod(number, _CYCLE_DAYS)
        date = datetime.date(1970, 1, 1) + datetime.timedelta(since)
        before, behind = day(date.year + _CYCLE_YEARS * cycles, f"-{date.month:02d}-{date.day:02d}")
        if dates:
            return f"{before}{behind}"
        second, part = divmod(rest, per_s)
        fraction = f".{part:0{digits}d}" if digits else ""
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}{fraction}"
        return f"{before}{between}{clock}{zone}{behind}"

    return pa.array([text(value) for value in whole.to_pylist()], pa.string())


__all__ = ["iso_day", "moment_texts", "sql_day"]
