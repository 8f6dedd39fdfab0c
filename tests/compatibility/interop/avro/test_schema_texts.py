"""Schemas against Java's Avro: what is one, how it is written, and which can read which.

Confluent's registry finds a schema by the text that Java writes, and makes its GUID of it.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyspark
import pytest

from oncelog.schema_registry.formats import avro
from oncelog.schema_registry.formats.parsed import Dependency
from oncelog.schema_registry.rest_errors import InvalidSchema

ORACLE = Path(__file__).parent / "SchemaOracle.java"
JARS = Path(pyspark.__file__).parent / "jars"


def record(name: str = "R", fields: Any = (), **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(kind: Any = "int", name: str = "a", **more: Any) -> dict[str, Any]:
    return record(fields=[{"name": name, "type": kind, **more}])


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


INNER = record("B")
FIELD_NAMES = [
    "größe", "a-b", "1a", "日本", "a.b", "", "_", "aٱ", "a²", "a٣", "𝒜", "a b", "ªa", "Ⅷ", "e\u0301", "$a", "a\u00a0b",
]  # fmt: skip
NAMES: list[Any] = [
    *(field(name=name) for name in FIELD_NAMES),
    *(enum(name, "B") for name in FIELD_NAMES),
    *(record(name) for name in FIELD_NAMES),
    *({"type": "fixed", "name": f"my-ns.{name}", "size": 1} for name in FIELD_NAMES),
    *(record(namespace=space) for space in ("my-db.public.orders", "база-1", "a..b", " ", "a.", "", "1", "$", 5)),
    *(record(name) for name in ("my-db.public.orders.Envelope", "a.", ".a", "int", "n.int", "null", "record", 5)),
    {"type": "record", "fields": []},
    record(fields=[{"name": "x", "type": record("int", namespace="n")}, {"name": "y", "type": "n.int"}], namespace="n"),
    record(
        namespace="n",
        fields=[
            {"name": "a", "type": record("I", namespace="", fields=[{"name": "b", "type": record("J")}])},
            {"name": "c", "type": "I"},
        ],
    ),
    *(record(aliases=aliases) for aliases in (["a-b", "x.y-z"], "a", [1], [], ["b", "b"])),
    *(field(aliases=aliases) for aliases in (["a-b"], "a", [1], [], ["b", "b"])),
    record(namespace="n.s", aliases=["b", "n.s.c", "o.d"]),
]  # fmt: skip
DEFAULTS: list[Any] = [
    field(kind, default=default)
    for kind, values in [
        ("int", (1, 1.0, 1.5, "1", 2**31 - 1, 2**31, -(2**31), None, True, [], {})),
        ("long", (2**62, 2**63, -(2**63), 1.0, "1")),
        ("float", (1, 0.1, "NaN", "Infinity", "-Infinity", "x", "1.5", True, None)),
        ("double", (1, 1e21, 1e-5, 1e7, 123456789.5, 0.001, -0.0, 1.25e-300, 2**53, True)),
        ("string", ("a", 1, None, 'é\u2028\x7f/"\\\b\x1f')),
        ("bytes", ("\u00ff", "\u0100", [1])),
        ("boolean", (True, "true", 0)),
        ("null", (None, 0)),
        (["null", "int"], (None, 1, "a")),
        (["int", "null"], (None, 1)),
        ({"type": "array", "items": "int"}, ([], [1, "a"], {})),
        ({"type": "map", "values": "int"}, ({}, {"a": 1}, {"a": "b"}, [])),
        (enum("A"), ("A", "B", 1)),
        ({"type": "fixed", "name": "X", "size": 2}, ("ab", "abc", 1)),
        (record("S", [{"name": "q", "type": "int"}]), ({}, {"q": 1}, {"q": 1, "z": 2}, {"q": "a"}, None)),
        (record("S", [{"name": "q", "type": "int", "default": 1}]), ({}, {"q": None})),
        ({"type": "int", "logicalType": "date"}, ("2020-01-01", 0)),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, ("\u0000",)),
    ]
    for default in values
]
TYPES: list[Any] = [
    '"int"', '{"type":"int"}', '["null","int"]', "[]", '["int","int"]', '["null",["int"]]', '"uuid"', "5", "{}", "",
    '{"type":"int"} x', '{"type":"int","type":"long"}', '{"type":"int","x":NaN}', "[", '{"a":1}', "true",
    enum("A", "A"), enum(), enum("A", default="B"), enum("A", default="A"), enum("A", default=1),
    *({"type": "fixed", "name": "F", "size": size} for size in (0, -1, 1.0, "3", 2**31)),
    record(doc="d"), record(doc=5), record(doc=None), record(doc=""), field(doc="d"), field(doc=None), field(doc=5),
    record(x=1, y={"b": 1, "a": [1, None]}), record(x=1e5), record(x=1.10), record(x=None),
    field(**{"connect.parameters": {"a": "b"}}), field("B"), field("R"), field(["null", "R"]),
    *(field(order=order) for order in ("ascending", "descending", "IGNORE", "up")),
    {"type": "record", "name": "R"}, record(fields=[{"name": "x"}]), record(fields=[{"type": "int"}]),
    record(fields=[{"name": "x", "type": "int"}] * 2),
    {"type": "error", "name": "R", "fields": []},
    {"type": "array", "items": "int", "x": 1}, {"type": "array"}, {"type": "map"}, {"type": "union"},
    {"type": "array", "items": "int", "default": []}, {"type": "array", "items": "int", "name": "a", "doc": "d"},
    {"type": "string", "avro.java.string": "String"}, {"type": "int", "name": "a", "doc": "d"},
    *(field({"type": "long", "logicalType": name}) for name in ("timestamp-nanos", "nonsense", "date")),
    field({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 4}),
    record(fields=[{"name": "x", "type": "B"}, {"name": "y", "type": INNER}]),
    record(fields=[{"name": "x", "type": ["null", "B"], "default": None}, {"name": "y", "type": enum("A", name="B")}]),
    record(fields=[{"name": "x", "type": INNER}, {"name": "y", "type": INNER}]),
    record(fields=[{"name": "x", "type": INNER}, {"name": "y", "type": INNER | {"doc": "z"}}]),
    record(fields=[{"name": "x", "type": INNER}, {"name": "y", "type": enum("A", name="B")}]),
    record(fields=[{"name": "x", "type": INNER}, {"name": "y", "type": record("B", [{"name": "z", "type": "int"}])}]),
    record(
        "Value",
        namespace="my-db.public.orders",
        fields=[
            {
                "name": "p",
                "type": {
                    "type": "int", "connect.version": 1, "connect.default": 5, "connect.parameters": {"x": "1"},
                    "connect.name": "io.debezium.time.Date",
                },
                "default": 5,
            }
        ],
        **{"connect.name": "my-db.public.orders.Value"},
    ),
]  # fmt: skip
REFERENCES: list[list[Any]] = [
    [record("D", namespace="my-db"), field("my-db.D")],
    [record("D", namespace="my-db"), field("my-db.D") | {"namespace": "my-db"}],
    [INNER, INNER], [INNER, INNER | {"doc": "x"}], [INNER, field("B") | {"name": "B"}], [INNER, field("C")],
    [field("int"), record("S", [{"name": "q", "type": "R"}]), record("T", [{"name": "a", "type": ["R", "S"]}])],
]  # fmt: skip
CASES = [[one] for one in (*NAMES, *DEFAULTS, *TYPES)] + REFERENCES

ENVELOPE = record("Envelope", [{"name": "op", "type": "string"}], namespace="my-db.public.orders")
PAIRS: list[tuple[Any, Any]] = [
    (field("long"), field("int")), (field("int"), field("long")), (field("string"), field("bytes")),
    (field("double"), field("long")), (field(["null", "int"]), field("int")), (field("int"), field(["null", "int"])),
    (record(fields=[{"name": "a", "type": "int"}, {"name": "größe", "type": "int", "default": 1}]), field()),
    (record(fields=[{"name": "a", "type": "int"}, {"name": "größe", "type": "int"}]), field()),
    (field(name="b", aliases=["a"]), field()), (record("S", aliases=["R"]), record()), (record("S"), record()),
    *((record("n.S", aliases=[alias]), record(f"{space}.R")) for alias in ("R", "n.R", "m.R", ".R") for space in "nm"),
    *(
        (field(record("S", aliases=["I"])) | {"namespace": "n"}, field(record("I", namespace=one)) | {"namespace": "n"})
        for one in "nm"
    ),
    *((enum("A", namespace="n", name="F", aliases=["E"]), enum("A", namespace=space)) for space in "nm"),
    (record("n.R"), record("m.R")), (ENVELOPE, ENVELOPE | {"namespace": "other-db.public.orders"}),
    (enum("A"), enum("A", "größe")), (enum("A", default="A"), enum("A", "größe")), (enum("größe", "A"), enum("A")),
    (["int", "string"], ["string"]), (["string"], ["int", "string"]), ('"int"', ["int"]), (["null", "int"], '"null"'),
    ({"type": "map", "values": "long"}, {"type": "map", "values": "int"}),
    ({"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 2}),
    ({"type": "fixed", "name": "G", "size": 1}, {"type": "fixed", "name": "F", "size": 1}),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, '"bytes"'),
    (record(fields=[{"name": "x", "type": "B"}, {"name": "y", "type": INNER}]), record(fields=[])),
    (field({"type": "array", "items": "long"}, default=[]), record()),
]  # fmt: skip


def text(schema: Any) -> str:
    return schema if isinstance(schema, str) else json.dumps(schema, ensure_ascii=False)


@pytest.fixture(scope="module")
def answers() -> list[dict[str, Any]]:
    """Java's answers to all cases, and then to all pairs."""
    asked: list[Any] = [[text(one) for one in case] for case in CASES]
    asked += [{"reader": text(reader), "writer": text(writer)} for reader, writer in PAIRS]
    ran = subprocess.run(
        ["java", "-cp", f"{JARS}/*", str(ORACLE)],
        input="".join(json.dumps(one) + "\n" for one in asked),
        capture_output=True, encoding="utf-8", timeout=240, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.rstrip("\n").split("\n")]
    assert len(found) == len(asked)
    return found


def our_text(case: list[Any]) -> str | None:
    before = [Dependency(str(number), text(one)) for number, one in enumerate(case[:-1])]
    try:
        parsed = avro.parse(text(case[-1]), before)
        parsed.check_new()
    except InvalidSchema:
        return None
    return parsed.text


def test_java_and_we_accept_the_same_schema_texts_and_write_them_alike(answers: list[dict[str, Any]]) -> None:
    both = [(case, answer.get("text"), our_text(case)) for case, answer in zip(CASES, answers, strict=False)]
    assert [one for one in both if one[1] != one[2]] == []


def test_java_and_we_agree_which_schemas_are_compatible(answers: list[dict[str, Any]]) -> None:
    for (reader, writer), answer in zip(PAIRS, answers[len(CASES) :], strict=True):
        problems = avro.parse(text(reader), []).problems_reading(avro.parse(text(writer), []))
        assert (not problems) == answer["readable"], (reader, writer, problems)


def test_a_schema_written_out_in_full_equals_the_original(answers: list[dict[str, Any]]) -> None:
    for case, answer in zip(CASES, answers, strict=False):
        if len(case) == 1 and "text" in answer:
            assert our_text([avro.parse(text(case[0]), []).formatted("resolved")]) == answer["text"]
