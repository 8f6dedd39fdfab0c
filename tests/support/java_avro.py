"""Avro as Java reads it: Apache Avro's own classes, which PySpark brings, started once for many values."""

from __future__ import annotations

import datetime
import json
import subprocess
import uuid
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyspark

from oncelog.spark.java import find_java

JARS = Path(pyspark.__file__).parent / "jars"
ORACLE = Path(__file__).parent / "AvroOracle.java"
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Case(NamedTuple):
    """Bytes of a writer's schema, and the schema that they are read with."""

    writer: Any
    reader: Any
    data: bytes


class Refused(NamedTuple):
    """Why Java reads nothing."""

    why: str


def java_values(cases: Iterable[Case]) -> list[Any]:
    """What Java reads, as Python's values, or why it refuses; a time is a pair of its kind and a number."""
    lines = [
        json.dumps({"writer": json.dumps(one.writer), "reader": json.dumps(one.reader), "bytes": one.data.hex()})
        for one in cases
    ]
    command = [find_java(), "-cp", f"{JARS}/*", "-XX:TieredStopAtLevel=1", str(ORACLE)]
    ran = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(lines), ran.stderr
    return [Refused(one["refused"]) if "refused" in one else _value(one["value"]) for one in answers]


def _value(given: Any) -> Any:
    if isinstance(given, dict):
        inner = given["fields"] if "record" in given else given["map"]
        return {name: _value(one) for name, one in inner.items()}
    if isinstance(given, list):
        return [_value(one) for one in given]
    if not isinstance(given, str):
        return given
    kind, _, text = given.partition(" ")
    return _KINDS[kind](text)


_KINDS: dict[str, Any] = {
    "int": int,
    "float": float,
    "text": str,
    "bytes": bytes.fromhex,
    "decimal": Decimal,
    "uuid": uuid.UUID,
    "date": lambda text: ("date", int(text)),
    "time": lambda text: ("time", int(text)),
    "moment": lambda text: ("moment", int(text)),
    "local": lambda text: ("local", int(text)),
}


def comparable(value: Any) -> Any:
    """One of Python's values, in the form that :func:`java_values` has."""
    match value:
        case dict():
            return {name: comparable(one) for name, one in value.items()}
        case list():
            return [comparable(one) for one in value]
        case datetime.datetime() if value.tzinfo is None:
            return "local", (value.replace(tzinfo=datetime.UTC) - EPOCH) // datetime.timedelta(microseconds=1)
        case datetime.datetime():
            return "moment", (value - EPOCH) // datetime.timedelta(microseconds=1)
        case datetime.date():
            return "date", (value - EPOCH.date()).days
        case datetime.time():
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return "time", seconds * 1_000_000 + value.microsecond
    return value
