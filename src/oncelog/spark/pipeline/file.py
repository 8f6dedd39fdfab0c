"""Pipelines from files: a Python file with decorated functions, or a TOML file with source, SQL and sink.

Called by ``oncelog pipeline`` and the demo. A mistake in a file is one sentence that names the file and the entry.
"""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncelog.errors import ConfigError
from oncelog.settings.fields import nearest
from oncelog.spark.options import OptionValue, option_texts
from oncelog.spark.pipeline.definition import (
    JSON_TEXT,
    ONLY,
    REGISTERED,
    TABLES_FIRST,
    Pipeline,
    PipelineError,
    Sink,
    Source,
    Table,
    TableSink,
    Transform,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from oncelog.spark.schemas import Access

_SECTIONS = ("name", "mode", "trigger", "order", "source", "sources", "tables", "query", "sink", "sinks")
_SOURCE = (
    "topic", "schema", "malformed", "dead_letter", "create_dead_letter", "watermark", "options", "format",
    "registry", "message",
)  # fmt: skip
_TABLE = ("path", "format", "schema", "options")
_SINK = ("topic", "topics", "key", "create", "options")
_REGISTERED_SINK = ("schema", "record", "subject_name", "message")
"""The further entries of a sink whose schema is in a registry, in addition to ``format`` and ``registry``."""
_TABLE_SINK = {
    "format": "format",
    "table": "table",
    "url": "url",
    "mode": "mode",
    "key": "key",
    "latest_by": "latestBy",
    "partition_by": "partitionBy",
    "evolve": "evolve",
}
"""The entries of a sink that is a table, and the option of ``to_table`` that each one sets."""
_QUERY = ("sql", "file")
_ANY_SINK = (*_SINK, *_TABLE_SINK, "catalog", "storage", "registry", *_REGISTERED_SINK, *_QUERY)


def load_pipelines(path: Path) -> list[Pipeline]:
    """The pipelines of a file, in order. Raises PipelineError if the file cannot be read or holds none."""
    if not path.is_file():
        raise PipelineError(f"there is no pipeline file {path}")
    if path.suffix == ".toml":
        found = [_from_toml(path)]
    elif path.suffix == ".py":
        found = _from_python(path)
    else:
        raise PipelineError(f"{path} is not a pipeline file: give a .py file with decorated functions, or a .toml file")
    names = [pipeline.name for pipeline in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PipelineError(f"{path} has two pipelines named {twice[0]}: rename one of them")
    return found


def _from_python(path: Path) -> list[Pipeline]:
    name = f"oncelog_pipeline_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PipelineError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PipelineError(
            f"{path} cannot be loaded: {type(error).__name__}: {error}{_line_of(error, path)}"
        ) from error
    finally:
        sys.path.pop(0)
    found = [value for value in vars(module).values() if isinstance(value, Pipeline)]
    if not found:
        raise PipelineError(f"{path} has no pipeline: decorate a function with @pipeline(source=..., sink=...)")
    return found


def _line_of(error: Exception, path: Path) -> str:
    """The last line of this file in the error's traceback, as `` (line 7)``; empty if the traceback does not contain
    the file.
    """
    if isinstance(error, SyntaxError):
        return ""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line is not None else ""


def _from_toml(path: Path) -> Pipeline:
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PipelineError(f"{path} cannot be read as TOML: {error}") from error
    section = _Section(path, "", entries, _SECTIONS)
    tables = [
        _table(path, name, _Section(path, f"tables.{name}", entry, _TABLE))
        for name, entry in section.tables("tables").items()
    ]
    sources = {name: _source(one) for name, one in section.one_or_several("source", _SOURCE).items()}
    several = section.one_or_several("sink", _ANY_SINK)
    sinks = {name: _sink(path, one) for name, one in several.items()}
    if list(several) == [ONLY]:
        queries = {ONLY: _sql(path, section.section("query", _QUERY), "[query]")}
    else:
        queries = {name: _sql(path, one, f"[sinks.{name}]") for name, one in several.items()}
        if "query" in entries:
            raise PipelineError(f"{path}: with several sinks, each has its own sql or file: remove [query]")
    return Pipeline(
        name=section.text("name", path.stem),
        sources=sources,
        sinks=sinks,
        transform=_sql_transform(queries, tables),
        mode=section.text("mode", "append"),
        trigger=section.text("trigger"),
        order=section.text("order", TABLES_FIRST),
    )


def _source(source: _Section) -> Source:
    return Source(
        topic=source.text("topic"),
        options=source.options(),
        schema=source.text("schema"),
        malformed=source.text("malformed", "fail"),
        watermark=_watermark(source),
        dead_letter=source.text("dead_letter"),
        create_dead_letter=source.tables("create_dead_letter"),
        format=source.text("format", JSON_TEXT),
        registry=source.registry(),
        message=source.text("message"),
    )


def _sink(path: Path, sink: _Section) -> Sink | TableSink:
    registered = sink.has("format") and sink.text("format") in REGISTERED
    if not registered:
        for name in ("registry", *_REGISTERED_SINK):
            if sink.has(name):
                raise PipelineError(
                    f"{path}: {sink.full(name)} is for records with schemas: give the sink a format "
                    f"({', '.join(REGISTERED)}), or leave it out"
                )
        if sink.has("format"):
            return _table_sink(path, sink)
    for name in (*_TABLE_SINK, "catalog", "storage"):
        if name != "key" and sink.has(name) and not (registered and name == "format"):
            raise PipelineError(f"{path}: {sink.full(name)} is for tables: give the sink a format, or leave it out")
    return Sink(
        topic=sink.text("topic"),
        key=sink.text("key"),
        options=sink.options(),
        topics=sink.texts("topics"),
        create=sink.tables("create"),
        format=sink.text("format"),
        registry=sink.registry(),
        schema=sink.text("schema"),
        record=sink.text("record"),
        subject_name=sink.text("subject_name", "topic"),
        message=sink.text("message"),
    )


class _Section:
    """One table of a TOML file; refuses names that it does not know."""

    def __init__(self, path: Path, name: str, entries: Any, known: tuple[str, ...]) -> None:
        self._path = path
        self._name = name
        if not isinstance(entries, dict):
            raise PipelineError(f"{path}: {name} must be a table, [{name}]")
        self._entries: dict[str, Any] = entries
        for entry in entries:
            if entry not in known:
                raise PipelineError(f"{path}: unknown entry {self.full(entry)!r}{nearest(entry, list(known))}")

    def full(self, entry: str) -> str:
        return f"{self._name}.{entry}" if self._name else entry

    def has(self, name: str) -> bool:
        return name in self._entries

    def scalar(self, name: str) -> OptionValue:
        """A string, a number or a boolean; a list of strings becomes one string with commas."""
        value = self._entries[name]
        if isinstance(value, list):
            return ",".join(self.texts(name))
        if not isinstance(value, str | int | float | bool):
            raise PipelineError(
                f"{self._path}: {self.full(name)} must be a string, a number or a boolean, not {value!r}"
            )
        return value

    def text(self, name: str, default: str = "") -> str:
        value = self._entries.get(name, default)
        if not isinstance(value, str):
            raise PipelineError(f"{self._path}: {self.full(name)} must be a string, not {value!r}")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._entries.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise PipelineError(f"{self._path}: {self.full(name)} must be a list of strings, not {value!r}")
        return tuple(value)

    def one_or_several(self, name: str, known: tuple[str, ...]) -> dict[str, _Section]:
        """The table ``[source]``, or the tables ``[sources.NAME]``; exactly one of the two forms must be given."""
        plural = f"{name}s"
        if name in self._entries and plural in self._entries:
            raise PipelineError(f"{self._path}: give either [{name}] or [{plural}.NAME], not both")
        if plural not in self._entries:
            return {ONLY: self.section(name, known)}
        found = {
            inner: _Section(self._path, f"{plural}.{inner}", entry, known)
            for inner, entry in self.tables(plural).items()
        }
        if not found:
            raise PipelineError(f"{self._path}: [{plural}] is empty: write [{plural}.NAME]")
        return found

    def options(self) -> dict[str, str]:
        return self._texts("options", {"kafka"})

    def properties(self, name: str) -> dict[str, str]:
        """The properties of a catalog or a store, whose names may have dots."""
        return self._texts(name, self.tables(name))

    def _texts(self, name: str, dotted: Container[str]) -> dict[str, str]:
        """A table of options as texts.

        :param dotted: what names with dots begin with: TOML reads ``kafka.client.id = "x"`` as tables within tables.
        """
        given: dict[str, OptionValue] = {}
        for option, value in self.tables(name).items():
            given |= _joined(option, value) if option in dotted else {option: value}
        try:
            return option_texts(given, f"[{self.full(name)}]")
        except ConfigError as error:
            raise PipelineError(f"{self._path}: {error}") from None

    def registry(self) -> Access:
        """A schema registry: its address, or a table of its settings."""
        if not isinstance(self._entries.get("registry"), dict):
            return self.text("registry")
        return dict(self.tables("registry"))

    def tables(self, name: str) -> Mapping[str, Any]:
        value = self._entries.get(name, {})
        if not isinstance(value, dict):
            raise PipelineError(f"{self._path}: {self.full(name)} must be a table, [{self.full(name)}]")
        return value

    def section(self, name: str, known: tuple[str, ...]) -> _Section:
        if name not in self._entries:
            raise PipelineError(f"{self._path}: the section [{name}] is missing")
        return _Section(self._path, name, self._entries[name], known)

    def pair(self, name: str, first: str, second: str) -> tuple[str, str] | None:
        """An inline table of exactly two strings; None if it is missing."""
        if name not in self._entries:
            return None
        inner = _Section(self._path, self.full(name), self._entries[name], (first, second))
        values = inner.text(first), inner.text(second)
        if not all(values):
            raise PipelineError(f"{self._path}: {self.full(name)} needs {first} and {second}")
        return values


def _joined(name: str, value: Any) -> dict[str, Any]:
    """The entries of tables within tables, by their names joined with dots."""
    if not isinstance(value, dict):
        return {name: value}
    return {full: found for inner, entry in value.items() for full, found in _joined(f"{name}.{inner}", entry).items()}


def _table_sink(path: Path, sink: _Section) -> TableSink:
    """A sink with a format, which writes to a table. Relative paths begin at the TOML file's folder."""
    for name in ("topic", "topics", "create"):
        if sink.has(name):
            raise PipelineError(f"{path}: {sink.full(name)} is for topics, and the sink has a format: leave one out")
    options: dict[str, OptionValue] = {
        option: sink.scalar(name) for name, option in _TABLE_SINK.items() if sink.has(name)
    }
    for prefix in ("catalog", "storage"):
        options |= {f"{prefix}.{name}": value for name, value in sink.properties(prefix).items()}
    for name, of in (("table", "delta"), ("url", "sqlite")):
        if options.get("format") == of and name in options:
            options[name] = _beside(path, str(options[name]))
    return TableSink(options | sink.options())


def _beside(path: Path, given: str) -> str:
    """A path in a pipeline file: a relative one begins at the file's folder; URLs stay as they are."""
    relative = "://" not in given and not given.startswith(("file:", "jdbc:")) and not Path(given).is_absolute()
    return str(path.parent.resolve() / given) if relative else given


def _watermark(source: _Section) -> tuple[str, str] | None:
    return source.pair("watermark", "column", "delay")


def _table(path: Path, name: str, entry: _Section) -> Table:
    given = entry.text("path")
    if not given:
        raise PipelineError(f"{path}: tables.{name}.path is missing")
    return Table(name, _beside(path, given), entry.text("format", "csv"), entry.text("schema"), entry.options())


def _sql(path: Path, query: _Section, where: str) -> str:
    sql, file = query.text("sql"), query.text("file")
    if bool(sql) == bool(file):
        raise PipelineError(f"{path}: {where} needs either sql or file")
    if sql:
        return sql
    try:
        return (path.parent / file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"{path}: the query in {file} cannot be read: {error}") from error


def _sql_transform(queries: Mapping[str, str], tables: list[Table]) -> Transform:
    """A transform that runs a query for each sink over views of the sources and the tables."""

    def transform(*only: DataFrame, **named: DataFrame) -> Mapping[str, DataFrame]:
        sources = {ONLY: only[0]} if only else named
        spark = next(iter(sources.values())).sparkSession
        for table in tables:
            reader = spark.read.format(table.format)
            if table.schema:
                reader = reader.schema(table.schema)
            defaults = {"header": "true", "inferSchema": str(not table.schema).lower()} if table.format == "csv" else {}
            reader.options(**(defaults | dict(table.options))).load(table.path).createOrReplaceTempView(table.name)
        for name, rows in sources.items():
            rows.createOrReplaceTempView(name)
        return {name: spark.sql(sql) for name, sql in queries.items()}

    return transform
