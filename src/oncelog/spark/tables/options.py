"""The options of a table that is a sink, parsed and checked. Pure.

Called by :mod:`oncelog.spark.tables.sink` and by pipeline files, before anything is opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from oncelog.errors import ConfigError
from oncelog.settings.fields import nearest
from oncelog.spark.options import OnMissingMarker

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

TABLE_OPTIONS = (
    "format",
    "table",
    "url",
    "mode",
    "key",
    "latestBy",
    "partitionBy",
    "evolve",
    "writers",
    "targetFileBytes",
    "maxBatchBytes",
    "onMissingMarker",
    "checkpointLocation",
)
TARGET_FILE_BYTES = 128 << 20
MAX_BATCH_BYTES = 256 << 20
_URL = re.compile(r"(file:|jdbc:|[a-z][a-z0-9+.-]*://)", re.IGNORECASE)
"""Matches URLs of other databases, which are refused, and ``file:``, which SQLite may take for a URL or for the name of
a file."""


class TableFormat(Enum):
    """The format of a table, or the database that it is in."""

    DELTA = "delta"
    ICEBERG = "iceberg"
    POSTGRESQL = "postgresql"
    SQLITE = "sqlite"


class Mode(Enum):
    """How a batch changes the table's existing rows: ``APPEND`` keeps them, ``COMPLETE`` replaces all, ``UPSERT``
    replaces those with the keys of the batch."""

    APPEND = "append"
    UPSERT = "upsert"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The options of one table.

    :param table: path or URL of a Delta table, else the table's name.
    :param url: the database: ``postgresql://...``, or the file of SQLite.
    :param catalog: the properties of pyiceberg's catalog, and its ``name``, ``default`` unless given.
    :param storage: the options of the object store, by deltalake's names.
    :param key: the columns that identify a row, for ``UPSERT``.
    :param latest_by: the columns that decide which of two rows with one key is later, the most significant first.
    :param evolve: whether columns of the rows that the table lacks are added to it.
    :param driver_writes: whether only the driver writes.
    :param max_batch_bytes: the maximum size, as Arrow, of a batch's rows in the driver's memory.
    """

    format: TableFormat
    table: str
    url: str = ""
    catalog: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)
    mode: Mode = Mode.APPEND
    key: tuple[str, ...] = ()
    latest_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    evolve: bool = False
    driver_writes: bool = False
    target_file_bytes: int = TARGET_FILE_BYTES
    max_batch_bytes: int = MAX_BATCH_BYTES
    on_missing: OnMissingMarker = OnMissingMarker.FAIL
    checkpoint_location: str = ""

    def __str__(self) -> str:
        """The options for messages, without ``url`` and ``storage``, which may hold passwords."""
        return f"{self.format.value} table {self.table}"


def parse_table_options(options: Mapping[str, str]) -> TableOptions:
    """Parse the options of a table. Raises ConfigError that names the option."""
    spelling = {name.lower(): name for name in TABLE_OPTIONS}
    given: dict[str, str] = {}
    catalog: dict[str, str] = {}
    storage: dict[str, str] = {}
    for name, value in options.items():
        kind, dot, rest = name.partition(".")
        if dot and kind.lower() == "catalog":
            catalog[rest] = value
        elif dot and kind.lower() == "storage":
            storage[rest] = value
        elif name.lower() in spelling:
            given[spelling[name.lower()]] = value.strip()
        else:
            raise ConfigError(f"Unknown option {name!r} of a table{nearest(name, list(TABLE_OPTIONS))}")
    found = TableOptions(
        format=_word(given, "format", TableFormat),
        table=given.get("table", ""),
        url=given.get("url", ""),
        catalog=catalog,
        storage=storage,
        mode=_word(given, "mode", Mode, Mode.APPEND),
        key=_names(given, "key"),
        latest_by=_names(given, "latestBy"),
        partition_by=_names(given, "partitionBy"),
        evolve=_parsed(given, "evolve", _boolean, "true or false", False),
        driver_writes=_parsed(given, "writers", _driver_writes, "auto, or 0 for the driver", False),
        target_file_bytes=_parsed(given, "targetFileBytes", _positive, "a whole number above 0", TARGET_FILE_BYTES),
        max_batch_bytes=_parsed(given, "maxBatchBytes", _positive, "a whole number above 0", MAX_BATCH_BYTES),
        on_missing=_word(given, "onMissingMarker", OnMissingMarker, OnMissingMarker.FAIL),
        checkpoint_location=given.get("checkpointLocation", ""),
    )
    _check(found, given)
    return found


def _check(options: TableOptions, given: Mapping[str, str]) -> None:
    """Refuse missing options, and options that would have no effect."""
    kind = options.format
    if not options.table:
        raise ConfigError(f"A {kind.value} sink needs the option table")
    takes_url, in_files = (
        kind in (TableFormat.POSTGRESQL, TableFormat.SQLITE),
        kind in (TableFormat.DELTA, TableFormat.ICEBERG),
    )
    if takes_url and not options.url:
        example = "postgresql://user@host/database" if kind is TableFormat.POSTGRESQL else "a file's path"
        raise ConfigError(f"A {kind.value} sink needs the option url: {example}")
    if kind is TableFormat.SQLITE and options.url == ":memory:":
        raise ConfigError("Option url of a sqlite sink is :memory:, which is gone when a batch has ended: name a file")
    if kind is TableFormat.SQLITE and _URL.match(options.url):
        raise ConfigError(
            f"Option url of a sqlite sink is {options.url!r}, which is a URL: write the file's path alone"
        )
    if kind is TableFormat.ICEBERG:
        _check_catalog(options.catalog)
    idle = {
        "url": bool(options.url) and not takes_url,
        "catalog.*": bool(options.catalog) and kind is not TableFormat.ICEBERG,
        "storage.*": bool(options.storage) and kind is not TableFormat.DELTA,
        "partitionBy": bool(options.partition_by) and not in_files,
        "targetFileBytes": "targetFileBytes" in given and kind is not TableFormat.DELTA,
        "writers": "writers" in given and kind is TableFormat.SQLITE,
    }
    for name in (name for name, given_for_nothing in idle.items() if given_for_nothing):
        raise ConfigError(f"Option {name} has no meaning for a {kind.value} sink: leave it out")
    if (options.mode is Mode.UPSERT) != bool(options.key):
        raise ConfigError("mode = upsert and key, the columns that identify a row, need each other: set both")
    if options.latest_by and options.mode is not Mode.UPSERT:
        raise ConfigError("latestBy says which row of a key is the latest, for mode = upsert: set it, or leave it out")
    keys = {name.lower() for name in options.key}
    if both := [name for name in options.latest_by if name.lower() in keys]:
        raise ConfigError(f"latestBy and key both name {both[0]}, which all rows of a key have: leave it out")


def _check_catalog(catalog: Mapping[str, str]) -> None:
    """Refuse a catalog as it is configured for Spark where pyiceberg, which is used here, has it otherwise or not at
    all."""
    if not catalog:
        raise ConfigError("An iceberg sink needs its catalog, as in catalog.type = sql and catalog.uri")
    kind = catalog.get("type", "").lower()
    if kind == "jdbc" or catalog.get("uri", "").startswith("jdbc:"):
        raise ConfigError(
            "Options catalog.*: Spark's JDBC catalog is catalog.type = sql here, its catalog.uri is one of "
            "SQLAlchemy's (postgresql+psycopg://user@host/database, sqlite:////folder/catalog.db), and catalog.name is "
            "its name in Spark"
        )
    if kind in ("hadoop", "nessie", "in-memory"):
        raise ConfigError(
            f"Option catalog.type is {kind!r}, which does not work here: use a catalog of type rest, hive, glue, "
            "dynamodb, sql or bigquery; Nessie is one of type rest"
        )
    if "catalog-impl" in catalog:
        raise ConfigError(
            "Option catalog.catalog-impl names a Java class, and pyiceberg, which is used here, has catalog.type: "
            "rest, hive, glue, dynamodb, sql or bigquery"
        )


def _word(given: Mapping[str, str], name: str, words: type[E], default: E | None = None) -> E:
    if name not in given and default is not None:
        return default
    text = given.get(name, "")
    try:
        return words(text.lower())
    except ValueError:
        allowed = ", ".join(str(word.value) for word in words)
        raise ConfigError(f"Invalid value {text!r} for option {name}: it takes {allowed}") from None


def _parsed(given: Mapping[str, str], name: str, parse: Callable[[str], T], wants: str, default: T) -> T:
    if name not in given:
        return default
    try:
        return parse(given[name])
    except (ValueError, KeyError):
        raise ConfigError(f"Invalid value {given[name]!r} for option {name}: it takes {wants}") from None


def _names(given: Mapping[str, str], name: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in given.get(name, "").split(",") if part.strip())
    if len({name.lower() for name in found}) < len(found):
        raise ConfigError(f"Option {name} names a column twice: {', '.join(found)}")
    return found


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _driver_writes(text: str) -> bool:
    return {"auto": False, "0": True}[text.lower()]


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number
