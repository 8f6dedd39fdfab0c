"""Headers as programs have them, in each way to write: maps, texts, bytes, and what no header can be."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from oncelog.errors import ConfigError
from oncelog.spark.session import for_each_batch, write
from oncelog.spark.sink.rows import SinkColumns
from tests.integration.spark.kafka_records import committed, create_topic
from tests.support.restarted_queries import run_to_the_end

Headers = list[tuple[str, bytes | None]]

FORMS: dict[str, tuple[str, Headers]] = {
    "map of texts": ("map('a', 'ä', 'b', cast(null AS string), '', '')", [("a", "ä".encode()), ("b", None), ("", b"")]),
    "map of bytes": ("map('a', x'ff00', 'b', cast(null AS binary))", [("a", b"\xff\x00"), ("b", None)]),
    "structs of texts": (
        "array(named_struct('key', 'a', 'value', '1'), named_struct('key', 'a', 'value', null))",
        [("a", b"1"), ("a", None)],
    ),
    "structs of bytes": ("array(named_struct('key', 'a', 'value', x'01'))", [("a", b"\x01")]),
    "value before key": ("array(named_struct('value', x'01', 'key', 'a'))", [("a", b"\x01")]),
    "no headers": ("cast(null AS map<string,string>)", []),
    "empty map": ("cast(map() AS map<string,string>)", []),
}


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.mark.parametrize("way", ["df.write", "write", "format", "for_each_batch"])
def test_all_forms_of_headers_are_written(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path, way: str
) -> None:
    address = oncelog_broker.bootstrap_servers
    names = {form: create_topic(address, f"{unique_name}-{number}") for number, form in enumerate(FORMS)}
    for form, (expression, _) in FORMS.items():
        given = {"kafka.bootstrap.servers": address, "topic": names[form]}
        if way in ("df.write", "write"):
            rows = spark.range(1).selectExpr("'v' AS value", f"{expression} AS headers")
            if way == "write":
                write(rows, given)
            else:
                rows.write.format("oncelog").mode("append").options(**given).save()
            continue
        source = tmp_path / "source"
        if not source.exists():
            spark.range(1).write.parquet(str(source))
        stream = spark.readStream.schema("id long").parquet(str(source))
        rows = stream.selectExpr("'v' AS value", f"{expression} AS headers")
        location = {"checkpointLocation": str(tmp_path / names[form])}
        if way == "format":
            writer = rows.writeStream.format("oncelog").options(**given, **location)
        else:
            writer = rows.writeStream.foreachBatch(for_each_batch({**given, **location})).options(**location)
        run_to_the_end(writer.trigger(availableNow=True).start)
    for form, (_, wanted) in FORMS.items():
        (record,) = committed(address, names[form])
        assert (form, record.headers or []) == (form, wanted)


NO_HEADERS = {
    "array<string>": "array('a')",
    "struct": "named_struct('a', 1, 'b', 'x')",
    "string": '\'{"a": "1"}\'',
    "map of numbers": "map(1, 2)",
    "map of structs": "map('a', named_struct('b', 1))",
    "structs of other names": "array(named_struct('name', 'a', 'content', 1))",
    "structs of numbers": "array(named_struct('value', 1, 'key', 'a'))",
    "null": "null",
    "number": "1",
    "no elements": "array()",
    "no entries": "map()",
    "structs of three": "array(named_struct('value', 'v', 'more', 1, 'key', 'k'))",
}
ADVISED = {
    "no elements": [],
    "no entries": [],
    "structs of three": [("k", "v")],
    "structs of other names": [("a", "1")],
    "structs of numbers": [("a", "1")],
    "map of numbers": [("1", "2")],
}
"""What the advice makes of some of them."""
NO_FIELDS = {
    "value": (
        "1",
        "named_struct('a', 1)",
        "array(1)",
        "map('a', 1)",
        "current_timestamp()",
        "cast(1.5 AS decimal(9,2))",
    ),
    "key": ("1", "cast(1 AS bigint)", "named_struct('a', 1)", "true", "null"),
    "topic": ("1", "x'61'"),
    "partition": ("cast(0 AS bigint)", "'0'", "cast(0 AS smallint)"),
}
REFUSED = [("headers", expression) for expression in NO_HEADERS.values()] + [
    (name, expression) for name, several in NO_FIELDS.items() for expression in several
]


@pytest.mark.parametrize(("name", "expression"), REFUSED)
def test_the_advice_in_the_refusal_of_a_header_type_works(spark: SparkSession, name: str, expression: str) -> None:
    columns = {"value": "'v'", "topic": "'t'", name: expression}
    rows = spark.range(1).selectExpr(*(f"{given} AS {column}" for column, given in columns.items()))
    with pytest.raises(ConfigError, match=f"Column {name} has type") as refused:
        SinkColumns.of(rows.schema, "")
    advice = str(refused.value).partition("for example with ")[2]
    assert advice
    advised = rows.selectExpr(*(advice + f" AS {one}" if one == name else one for one in columns))
    SinkColumns.of(advised.schema, "")
    (row,) = advised.collect()
    wanted = ADVISED.get(next((form for form, given in NO_HEADERS.items() if given == expression), ""))
    if wanted is not None:
        headers = row.headers.items() if isinstance(row.headers, dict) else row.headers
        assert list(map(tuple, headers)) == wanted


MOMENT = "timestamp'2024-02-29 12:30:00.123456Z'"
LOCAL = "timestamp_ntz'0001-01-01 00:00:00.000001'"


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("value", f"named_struct('at', {MOMENT}, 'local', {LOCAL})"),
        ("key", f"array(named_struct('at', {MOMENT}))"),
        ("value", f"map('at', {MOMENT})"),
        ("headers", f"named_struct('at', {MOMENT}, 'local', {LOCAL})"),
        ("headers", f"map('name', named_struct('at', {MOMENT}))"),
    ],
)
def test_the_expression_in_the_advice_keeps_the_microseconds_of_times(
    spark: SparkSession, name: str, expression: str, zone: str
) -> None:
    columns = {"value": "'v'", "topic": "'t'", name: expression}
    rows = spark.range(1).selectExpr(*(f"{given} AS {column}" for column, given in columns.items()))
    with pytest.raises(ConfigError, match=f"Column {name} has type") as refused:
        SinkColumns.of(rows.schema, "")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        advice = str(refused.value).partition("for example with ")[2]
        (row,) = rows.selectExpr(f"{advice} AS advised").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert "2024-02-29 12:30:00.123456Z" in str(row.advised)
    assert ("0001-01-01 00:00:00.000001" in str(row.advised)) == ("local" in expression)


def test_a_header_without_a_key_is_refused_with_advice_that_removes_it(
    spark: SparkSession, oncelog_broker: RunningBroker, unique_name: str
) -> None:
    address = oncelog_broker.bootstrap_servers
    given = {"kafka.bootstrap.servers": address, "topic": create_topic(address, unique_name)}
    headers = "array(named_struct('key', null, 'value', '1'), named_struct('key', 'a', 'value', '2')) AS headers"
    rows = spark.range(1).selectExpr("'v' AS value", headers)
    rows = rows.selectExpr("value", "cast(headers AS array<struct<key:string,value:string>>) AS headers")
    with pytest.raises(PySparkException, match="whose key is null in column headers") as refused:
        rows.write.format("oncelog").mode("append").options(**given).save()
    advice = str(refused.value).partition("for example with ")[2].splitlines()[0]
    advised = rows.selectExpr("value", f"{advice} AS headers")
    advised.write.format("oncelog").mode("append").options(**given).save()
    (record,) = committed(address, unique_name)
    assert record.headers == [("a", b"2")]
