"""Knows what each version of PySpark lacks; all other modules ask this one or import from it.

| PySpark | lacks | what takes its place |
|---|---|---|
| below 4.0 | Python data sources | Spark's own Kafka source; ``write`` and ``for_each_batch`` of ``session`` |
| below 4.0 | Spark Connect for our sink, which is a data source there | nothing: :func:`check_connect` |
| below 4.1 | stream writers that take Arrow batches | a batch writer that does: Spark looks only at that class |
| below 4.1 | functions on Arrow arrays | nothing: records with schemas are refused |
| below 4.2 | limits and AvailableNow of Python streaming sources | :mod:`oncelog.spark.source.unlimited` |
| below 4.3 | names by which a query takes one more source (4.2 refuses it) | their order in the query |
| below 4.1 | INSERT with some of a SQL table's columns | nothing: Spark wants a value for each of them |
| from 4.3 on | internal metadata of columns in INSERT | public metadata: :mod:`oncelog.spark.sql.table_columns` |

Called on the driver and in Spark's workers. A worker compares its versions with the driver's before it does anything.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

from oncelog import __version__
from oncelog.errors import ConfigError
from oncelog.spark.private_apis import workers
from oncelog.spark.python_worker import acknowledge

try:
    from pyspark.version import __version__ as _installed
except ImportError:
    _installed = ""

ONCELOG = __version__
PYSPARK: str = _installed
"""The version of PySpark here; empty if it is not installed."""
MIN_RELEASE, BELOW = (3, 5), (5, 0)
MIN_LIBRARIES = {"numpy": "1.23.2", "pandas": "1.5.3", "pyarrow": "11"}
"""The lowest version that the extra ``spark`` accepts, and that the tests use."""
PYSPARK_MISSING = "PySpark is not installed here: pip install 'oncelog[spark]'"
"""The text of the ConfigError that modules imported by users raise without PySpark."""


def release(version: str) -> tuple[int, int]:
    """The first two numbers of a version, including that of a platform's own build (``3.5.4+amzn.0``)."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def pyspark_problem(version: str = PYSPARK) -> str | None:
    """Why this PySpark cannot be used and what to do, in one sentence; None if it can be used."""
    if not version:
        return PYSPARK_MISSING
    if MIN_RELEASE <= release(version) < BELOW:
        return None
    return f"PySpark {version} is installed, and oncelog works with 3.5 to 4.x: pip install 'pyspark>=3.5,<5'"


def check_pyspark() -> None:
    """Raises ConfigError if there is no PySpark, or one that cannot be used."""
    problem = pyspark_problem()
    if problem is not None:
        raise ConfigError(problem)


def libraries() -> dict[str, str | None]:
    """The installed versions of the libraries that PySpark and this package need for tasks in Python; None for a
    missing library."""
    return {name: _version(name) for name in MIN_LIBRARIES}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def libraries_problem(installed: Mapping[str, str | None] | None = None) -> str | None:
    """Which of numpy, pandas and pyarrow is missing or too old, and what to do; None if all are fine."""
    found = libraries() if installed is None else installed
    wrong = [f"{name}>={least}" for name, least in MIN_LIBRARIES.items() if _is_below(found[name], least)]
    return f"pip install {' '.join(repr(one) for one in wrong)}, on every worker too" if wrong else None


def _is_below(version: str | None, least: str) -> bool:
    return version is None or _numbers(version) < _numbers(least)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


_BEGINS = (
    ((4, 0), 'format("oncelog")'),
    ((4, 0), "Spark Connect"),
    ((4, 1), "declarative pipelines"),
    ((4, 1), "records with schemas"),
    ((4, 1), "INSERT with some of a SQL table's columns"),
    ((4, 2), "limits in the first batch of a streaming read"),
    ((4, 3), "one more source in a query"),
)


def lacking(version: str) -> list[str]:
    """Features of later PySpark releases that this one lacks, each with its first release."""
    return [f"{what} (from PySpark {'.'.join(map(str, since))})" for since, what in _BEGINS if release(version) < since]


HAS_DATA_SOURCES = release(PYSPARK) >= (4, 0)
HAS_ARROW_STREAM_WRITER = release(PYSPARK) >= (4, 1)
HAS_ARROW_FUNCTIONS = release(PYSPARK) >= (4, 1)
HAS_READ_LIMITS = release(PYSPARK) >= (4, 2)
HAS_SOURCE_NAMES = release(PYSPARK) >= (4, 3)
KEEPS_INTERNAL_METADATA = release(PYSPARK) < (4, 3)
"""Whether the columns of a catalog's table keep Spark's internal metadata in a query: see oncelog.spark.sql."""

SOURCE_NAMES = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""Spark's setting for named sources: if true, every source must have a name; if false, none may have one."""
NO_DATA_SOURCES = (
    'PySpark {} has no Python data sources, so format("oncelog") begins with PySpark 4.0: read with format("kafka") '
    "(Spark's own connector), write a stream with foreachBatch(for_each_batch(options)) and a batch with "
    "write(df, options), both of oncelog.spark.session"
)


def refuse_format() -> None:
    """Make Spark's readers and writers refuse the name ``oncelog`` where PySpark has no Python data sources.

    Spark itself would refer the user to a list of third-party projects.
    """
    if HAS_DATA_SOURCES or not PYSPARK:
        return
    from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

    kinds: tuple[Any, ...] = (DataFrameReader, DataFrameWriter, DataStreamReader, DataStreamWriter)
    for kind in kinds:
        if not hasattr(kind.format, "__wrapped__"):
            kind.format = _refusing(kind.format)


def _refusing(format_of: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    @functools.wraps(format_of)
    def checked(self: Any, source: str) -> Any:
        if isinstance(source, str) and source.lower() == "oncelog":
            raise ConfigError(NO_DATA_SOURCES.format(PYSPARK))
        return format_of(self, source)

    return checked


UPDATE_MODE = (
    'format("oncelog") has no output mode Update, which Spark offers to no sink in Python: write with '
    'outputMode("update").foreachBatch(for_each_batch(options)), of oncelog.spark.session, which takes every mode'
)


def refuse_update_mode() -> None:
    """Make Spark's writer of streams refuse the name ``oncelog`` in Update mode when a query is started.

    Spark itself would start the query and end it with a sentence that names no alternative.
    """
    if not HAS_DATA_SOURCES:
        return
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    writer: Any = DataStreamWriter
    if hasattr(writer.start, "__wrapped__"):
        return
    writer.format = _noting("source", writer.format)
    writer.outputMode = _noting("mode", writer.outputMode)
    writer.foreachBatch = _noting("function", writer.foreachBatch)
    writer.start = _not_in_update_mode(writer.start)


def _noting(what: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of the writer so that it also stores its argument in the Python object, because otherwise only the
    JVM has the argument.
    """

    @functools.wraps(method)
    def noted(self: Any, given: Any) -> Any:
        setattr(self, f"_oncelog_{what}", given)
        return method(self, given)

    return noted


def _not_in_update_mode(start: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(start)
    def checked(self: Any, *given: Any, **options: Any) -> Any:
        named = dict(zip(("path", "format", "outputMode"), given, strict=False)) | options
        source = named.get("format") or getattr(self, "_oncelog_source", None)
        mode = named.get("outputMode") or getattr(self, "_oncelog_mode", None)
        to_format = not hasattr(self, "_oncelog_function")
        if to_format and str(source).lower() == "oncelog" and str(mode).lower() == "update":
            raise ConfigError(UPDATE_MODE)
        return start(self, *given, **options)

    return checked


def is_connect() -> bool:
    """Whether this program's sessions are those of Spark Connect."""
    if HAS_DATA_SOURCES:
        from pyspark.sql import is_remote
    else:
        from pyspark.sql.utils import is_remote
    return bool(is_remote())


def check_connect() -> None:
    """Raises ConfigError if this PySpark cannot write through Spark Connect; call it in a session of Spark Connect."""
    if not HAS_DATA_SOURCES:
        raise ConfigError(
            f"PySpark {PYSPARK} has no Python data sources, so it cannot write through Spark Connect: use a "
            "driver of your own, or PySpark 4.0 or later on client and server"
        )


def stream_arrow_writer() -> type:
    """The base class of a stream writer that takes Arrow batches."""
    from pyspark.sql import datasource

    if HAS_ARROW_STREAM_WRITER:
        found: type = datasource.DataSourceStreamArrowWriter
        return found
    return type(
        "DataSourceStreamArrowWriter", (datasource.DataSourceStreamWriter, datasource.DataSourceArrowWriter), {}
    )


def condition_of(error: Any) -> str:
    """The name of the error condition of a Spark error."""
    found = error.getCondition() if hasattr(error, "getCondition") else error.getErrorClass()
    return str(found)


class VersionChecked:
    """Pickle an object together with the driver's versions, which are compared first when it is unpickled.

    Different versions may disagree about the pickled object, and fail with any error, or none.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (PYSPARK, ONCELOG, workers.pickler().dumps((type(self), self.__getstate__())))


def _unpickled(pyspark: str, oncelog: str, data: bytes) -> object:
    """Unpickle an object. Raises ConfigError in a worker whose versions differ from the driver's."""
    # acknowledge here, after the pickled object alone: the JVM sends the rows only after the acknowledgement
    acknowledge()
    for name, theirs, ours in (("pyspark", pyspark, PYSPARK), ("oncelog", oncelog, ONCELOG)):
        if theirs != ours:
            raise ConfigError(
                f"The worker {sys.executable} has {name} {ours} and the driver {theirs}: install {name} {theirs} on "
                "every worker, or name their Python with PYSPARK_PYTHON; nothing is written"
            )
    kind, state = workers.pickler().loads(data)
    made: Any = object.__new__(kind)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made
