"""What the data source and its companions refuse before they connect to anything."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType, TimestampType

from oncelog.errors import ConfigError
from oncelog.spark.data_source import OncelogDataSource
from oncelog.spark.session import write


@pytest.mark.parametrize("reader", ["reader", "streamReader"])
def test_schema_of_the_user_is_refused(reader: str) -> None:
    """As in Spark's own connector: what a value contains is parsed after the source."""
    source = OncelogDataSource({"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"})
    with pytest.raises(ConfigError, match=r"A schema cannot be given \(id int\): .*leave schema\(\) out"):
        getattr(source, reader)(StructType([StructField("id", IntegerType())]))


def test_timestamp_does_not_depend_on_what_a_session_takes_the_word_for() -> None:
    """As text it would, by ``spark.sql.timestampType``."""
    schema = OncelogDataSource({"includeHeaders": "true"}).schema()
    assert schema["timestamp"].dataType == TimestampType()
    assert schema["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"


def test_write_over_spark_connect_is_refused_with_what_works_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    rows: Any = None
    with pytest.raises(ConfigError, match=r"session is one of Spark Connect: use rows\.write\.format"):
        write(rows, {})
