"""What the data source and its companions refuse before they connect to anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType, TimestampType

from oncelog.errors import ConfigError
from oncelog.spark import versions
from oncelog.spark.data_source import OncelogDataSource
from oncelog.spark.executors.barrier import BarrierWriter, Encoder
from oncelog.spark.schemas.functions import _Decode, _Encode
from oncelog.spark.session import for_each_batch, write
from oncelog.spark.sink.writers import TaskSide
from oncelog.spark.source.batch import BatchReader
from oncelog.spark.source.stream import StreamReader
from oncelog.spark.tables.tasks import PartReporter
from oncelog.spark.versions import VersionChecked

READS = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}


@pytest.mark.parametrize("reader", ["reader", "streamReader"])
def test_a_schema_that_the_user_gives_is_refused(reader: str) -> None:
    """As in Spark's own connector: what a value contains is parsed after the source."""
    source = OncelogDataSource(READS)
    with pytest.raises(ConfigError, match=r"A schema cannot be given \(id int\): .*leave schema\(\) out"):
        getattr(source, reader)(StructType([StructField("id", IntegerType())])).partitions({}, {})


def test_the_timestamp_type_does_not_depend_on_the_sessions_default() -> None:
    """As text it would, by ``spark.sql.timestampType``."""
    schema = OncelogDataSource(READS | {"includeHeaders": "true"}).schema()
    assert schema["timestamp"].dataType == TimestampType()
    assert schema["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"


def test_a_write_over_spark_connect_is_refused_with_an_alternative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    rows: Any = None
    with pytest.raises(ConfigError, match=r"session is one of Spark Connect: use rows\.write\.format"):
        write(rows, {})


@pytest.mark.parametrize("use", [lambda: write(None, {}), lambda: for_each_batch({})])  # type: ignore[arg-type]
def test_spark_connect_is_named_in_the_refusal_where_there_are_no_data_sources(
    use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    monkeypatch.setattr(versions, "HAS_DATA_SOURCES", False)
    with pytest.raises(ConfigError, match=r"it cannot write through Spark Connect: use a driver of your own"):
        use()


def test_the_data_source_is_refused_on_an_unsupported_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = versions.pyspark_problem("5.0.0")
    monkeypatch.setattr(versions, "pyspark_problem", lambda: problem)
    with pytest.raises(ConfigError, match=r"PySpark 5\.0\.0 is installed, and oncelog works with 3\.5 to 4\.x"):
        OncelogDataSource({})


def test_importing_format_oncelog_on_a_pyspark_without_data_sources_names_an_alternative() -> None:
    """As on PySpark 3.5, in a process of its own."""
    program = "import sys; sys.modules['pyspark.sql.datasource'] = None; import oncelog.spark.data_source"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    reported = done.stderr.splitlines()[-1]
    assert reported.startswith("oncelog.errors.ConfigError: PySpark") and 'read with format("kafka")' in reported


@pytest.mark.parametrize(
    "kind", [BatchReader, StreamReader, TaskSide, Encoder, BarrierWriter, PartReporter, _Decode, _Encode]
)
def test_objects_sent_to_tasks_carry_their_version_and_the_task_compares_it(kind: type) -> None:
    assert issubclass(kind, VersionChecked)
    assert "__reduce__" not in vars(kind)
