"""``from_registry`` and ``to_registry``: functions from column to column. Called by users and by pipelines.

The registry is asked for the schema to read into, or to write with, when the function is called, in the process that
builds the query. Values written with other schemas are read with those: each worker requests an id once.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.sql.functions import col
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from oncelog.errors import ConfigError
from oncelog.schemas.arrow import value_writing
from oncelog.schemas.arrow.value_reading import ColumnReader, ReaderSchema, find_reader, parse_version
from oncelog.schemas.arrow.value_writing import ColumnWriter
from oncelog.schemas.codecs import Codecs, need_schema_packages
from oncelog.schemas.registry import LATEST, SchemaRegistry
from oncelog.schemas.schema_errors import SchemaError, reason_of
from oncelog.schemas.structs import Schema
from oncelog.spark.private_apis import plans
from oncelog.spark.process import this_process
from oncelog.spark.python_worker import acknowledge
from oncelog.spark.versions import HAS_ARROW_FUNCTIONS, PYSPARK, VersionChecked

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from oncelog.spark.schemas.verdicts import Verdicts

Access: TypeAlias = "str | Mapping[str, Any]"
"""A registry's address, or the arguments of :class:`~oncelog.schemas.SchemaRegistry` by name, ``url`` among them."""
FAIL, NULL, REPORT = "fail", "null", "report"
VALUE, PROBLEM = "value", "problem"
TIMEOUT: Mapping[str, Any] = {"timeout_s": 60.0, "retries": 8}
"""How long workers wait for a registry that restarts, unless the ``Access`` sets something else."""
MAX_READERS = 100


def from_registry(
    column: Column | str,
    registry: Access,
    *,
    subject: str,
    message: str = "",
    malformed: str = FAIL,
    headers: Column | str | None = None,
    is_key: bool = False,
) -> Column:
    """Decodes a column of values in Confluent's wire format to the columns of a subject's schema.

    Each value is decoded with the schema that it was written with, which a header or the prefix of the value names, and
    then resolved to ``subject``'s schema. A record becomes a struct; other types are those of Spark's ``from_avro``.

    :param subject: ``orders-value`` for its latest version at this moment, or ``orders-value:3``.
    :param message: the message of a Protobuf file; its first one unless given.
    :param malformed: what happens to a value that cannot be read: ``fail`` fails the query, ``null`` gives null, and
        ``report`` makes the column a struct of ``value`` and ``problem``, the reason.
    :param headers: the column ``headers`` (option ``includeHeaders``), if producers name schemas in headers by id or
        GUID; without it, only the prefix of a value counts.
    :param is_key: whether these are keys, for which another header counts.
    :raises SchemaRegistryError: the registry does not have the subject, or cannot be asked.
    :raises SchemaError: the schema has no columns in Spark.
    """
    if malformed not in (FAIL, NULL, REPORT):
        raise ConfigError(f"malformed is {malformed!r}: allowed are {FAIL}, {NULL} and {REPORT}")
    check_here()
    with open_registry(registry) as asked:
        reader = find_reader(asked, subject, message)
    return read_column(column, registry, reader, malformed, headers=headers, is_key=is_key)


def to_registry(
    column: Column | str,
    registry: Access,
    *,
    subject: str,
    schema: str | Schema | None = None,
    message: str = "",
) -> Column:
    """Encodes a column of structs as values in Confluent's wire format.

    :param subject: the subject whose latest version is used, or a version, ``orders-value:3``; with ``schema``, the
        subject in which the schema is registered.
    :param schema: an Avro schema (:func:`avro_schema` makes one of columns), or a :class:`~oncelog.schemas.Schema`.
    :param message: the message of a Protobuf file; its first one unless given.
    :raises SchemaRegistryError: the registry does not have the subject, refuses the schema, or cannot be asked.
    """
    check_here()
    with open_registry(registry) as asked:
        target = find_target(asked, subject, schema, message)
    return write_column(column, target)


def avro_schema(columns: StructType, name: str) -> str:
    """The Avro schema of a record with these columns; each field may be null, which is its default.

    :raises SchemaError: Avro lacks the type of a column, or does not allow its name.
    """
    return value_writing.avro_schema(_arrow_struct(columns), name).text


def _arrow_struct(columns: StructType) -> pa.StructType:
    return pa.struct(list(plans.arrow_schema(columns)))


def check_here() -> None:
    """Raises ConfigError if this PySpark has no functions on Arrow arrays, OncelogError if the extra is missing."""
    if not HAS_ARROW_FUNCTIONS:
        raise ConfigError(
            f"PySpark {PYSPARK} has no functions on Arrow arrays, which read and write records with schemas: use "
            "PySpark 4.1 or later"
        )
    need_schema_packages()


def open_registry(access: Access, given: Mapping[str, Any] | None = None) -> SchemaRegistry:
    """A client of the registry. Raises ConfigError if ``access`` is not valid.

    :param given: settings that ``access`` may overrule.
    """
    named: dict[str, Any] = {"url": access} if isinstance(access, str) else dict(access)
    if not named.get("url"):
        raise ConfigError("give the schema registry as an address, or as a mapping with url and other settings")
    known = tuple(inspect.signature(SchemaRegistry).parameters)
    unknown = sorted(set(named) - set(known))
    if unknown:
        raise ConfigError(
            f"the access to a schema registry has no setting {unknown[0]!r}, allowed are {', '.join(known)}"
        )
    try:
        return SchemaRegistry(**{**(given or {}), **named})
    except TypeError as error:
        raise ConfigError(f"the settings of the schema registry cannot be used: {error}") from error


def find_target(
    registry: SchemaRegistry, subject: str, schema: str | Schema | None = None, message: str = ""
) -> ReaderSchema:
    """The writer's schema: a registered version, or a schema that is registered now.

    :raises SchemaRegistryError: the registry refuses, or cannot be asked.
    """
    if schema is None:
        return find_reader(registry, subject, message)
    if parse_version(subject)[1] != LATEST:
        raise ConfigError(f"{subject} is a version that exists: give either it or a schema")
    given = Schema(schema) if isinstance(schema, str) else schema
    registry.register(subject, given)
    found = registry.lookup(subject, given)
    return find_reader(registry, f"{subject}:{found.version}", message)


def read_column(
    column: Column | str,
    registry: Access,
    reader: ReaderSchema,
    malformed: str,
    verdicts: Verdicts | None = None,
    *,
    headers: Column | str | None = None,
    is_key: bool = False,
) -> Column:
    """:func:`from_registry` with a known schema.

    :param verdicts: collects the schema of each id.
    """
    decode = _Decode(_picklable(registry), reader, malformed, verdicts, is_key=is_key)
    with open_registry(registry) as asked:
        kind = plans.spark_type(ColumnReader(reader, Codecs(asked)).arrow_type)
    if malformed == REPORT:
        kind = StructType([StructField(VALUE, kind), StructField(PROBLEM, StringType())])
    return _on_arrays(decode, kind, column, *([] if headers is None else [headers]))


def write_column(column: Column | str, target: ReaderSchema) -> Column:
    """:func:`to_registry` with the schema to write given, so that the registry is not asked."""
    ColumnWriter(target)
    return _on_arrays(_Encode(target), BinaryType(), column)


def _on_arrays(function: Callable[..., pa.Array], kind: DataType, *columns: Column | str) -> Column:
    from pyspark.sql.functions import arrow_udf

    def on_array(values: pa.Array) -> pa.Array:
        return function(values)

    def on_arrays(values: pa.Array, headers: pa.Array) -> pa.Array:
        return function(values, headers)

    define: Any = arrow_udf  # Any, because PySpark's annotations do not accept struct types
    given = [col(column) if isinstance(column, str) else column for column in columns]
    made: Column = define(on_array if len(given) == 1 else on_arrays, kind)(*given)
    return made


def check_written(columns: StructType, target: ReaderSchema) -> None:
    """Check that columns fit the schema with which they are to be written.

    :raises SchemaError: the columns do not fit.
    """
    ColumnWriter(target).check(_arrow_struct(columns))


def _picklable(registry: Access) -> Access:
    if not isinstance(registry, str) and callable(registry.get("token")):
        raise ConfigError("Spark's workers cannot call a function for a registry's token: give the token itself")
    return registry if isinstance(registry, str) else dict(registry)


class _Decode(VersionChecked):
    """Decodes an array of values, in a worker."""

    def __init__(
        self, registry: Access, reader: ReaderSchema, malformed: str, verdicts: Verdicts | None, *, is_key: bool
    ) -> None:
        self._registry, self._reader, self._malformed, self._verdicts = registry, reader, malformed, verdicts
        self._is_key = is_key

    def __call__(self, values: pa.Array, headers: pa.Array | None = None) -> pa.Array:
        acknowledge()
        reader = this_process().part(CodecCache).reader(self._registry, self._reader)
        found = reader.read(values, headers, is_key=self._is_key)
        if self._verdicts is not None:
            self._verdicts.add(found.verdicts)
        if self._malformed == FAIL and found.problems:
            number, problem = next(iter(sorted(found.problems.items())))
            raise SchemaError(f"a value of {len(values[number].as_py())} bytes cannot be read: {reason_of(problem)}")
        if self._malformed != REPORT:
            return found.values
        texts = {number: reason_of(problem) for number, problem in found.problems.items()}
        reasons = pa.nulls(len(values), pa.string())
        if texts:
            reasons = pa.array([texts.get(number) for number in range(len(values))], pa.string())
        return pa.StructArray.from_arrays([found.values, reasons], names=[VALUE, PROBLEM])


class _Encode(VersionChecked):
    """Encodes an array of rows, in a worker."""

    def __init__(self, target: ReaderSchema) -> None:
        self._target = target

    def __call__(self, values: pa.Array) -> pa.Array:
        acknowledge()
        return this_process().part(CodecCache).writer(self._target).write(values)


class CodecCache:
    """Caches the readers and writers of this process: a schema is fetched and prepared once, not in each task."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: dict[Any, ColumnReader] = {}
        self._writers: dict[ReaderSchema, ColumnWriter] = {}
        self._registries: dict[Any, Codecs] = {}

    def reader(self, access: Access, reader: ReaderSchema) -> ColumnReader:
        address = access if isinstance(access, str) else tuple(sorted(access.items()))
        with self._lock:
            codecs = self._registries.get(address)
            if codecs is None:
                codecs = self._registries[address] = Codecs(open_registry(access, TIMEOUT))
            found = self._readers.get((address, reader))
            if found is None:
                if len(self._readers) >= MAX_READERS:
                    self._readers.clear()
                found = self._readers[address, reader] = ColumnReader(reader, codecs)
            return found

    def writer(self, target: ReaderSchema) -> ColumnWriter:
        with self._lock:
            found = self._writers.get(target)
            if found is None:
                if len(self._writers) >= MAX_READERS:
                    self._writers.clear()
                found = self._writers[target] = ColumnWriter(target)
            return found

    def close(self) -> None:
        with self._lock:
            for codecs in self._registries.values():
                codecs.registry.close()
            self._readers.clear()
            self._writers.clear()
            self._registries.clear()
