"""Random pairs of Avro schemas, and values of the first as fastavro takes them. Pure."""

from __future__ import annotations

import itertools
import random
import struct
from typing import Any

from tests.support.java_avro import Case

WIDER = {
    "int": ["int", "long", "float", "double"],
    "long": ["long", "float", "double"],
    "float": ["float", "double"],
    "string": ["string", "bytes"],
}
LOGICAL: list[dict[str, Any]] = [
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-nanos"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3},
]
PLAIN = ["boolean", "int", "long", "float", "double", "string", "bytes"]


class RandomAvro:
    """Schemas whose named types have names of their own, and JSON values as a default has them."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._names = itertools.count()

    def case(self) -> Case:
        """A record, read with a schema that has more, fewer and wider fields."""
        writer = self.record(3)
        value = self.value(writer)
        reader = self.reader(writer)
        return Case(writer, reader, written(writer, value))

    def record(self, depth: int) -> dict[str, Any]:
        fields = [
            {"name": f"f{number}", "type": self.schema(depth - 1)} for number in range(self._random.randint(1, 4))
        ]
        return {"type": "record", "name": self._name("R"), "fields": fields}

    def schema(self, depth: int) -> Any:
        kinds = ["plain", "plain", "logical", "enum", "fixed", *(["record", "array", "map", "union"] if depth else [])]
        match self._random.choice(kinds):
            case "plain":
                return self._random.choice(PLAIN)
            case "logical":
                return dict(self._random.choice(LOGICAL))
            case "enum":
                return {"type": "enum", "name": self._name("E"), "symbols": ["A", "B", "C"]}
            case "fixed":
                return {"type": "fixed", "name": self._name("F"), "size": self._random.randint(1, 4)}
            case "record":
                return self.record(depth)
            case "array":
                return {"type": "array", "items": self.schema(depth - 1)}
            case "map":
                return {"type": "map", "values": self.schema(depth - 1)}
            case _:
                return self.union(depth)

    def union(self, depth: int) -> list[Any]:
        """Types that differ, null among them more often than not."""
        found: dict[str, Any] = {"null": "null"} if self._random.random() < 0.7 else {}
        for _ in range(self._random.randint(1, 4)):
            one = self.schema(depth - 1)
            if not isinstance(one, list):
                found[one if isinstance(one, str) else one.get("name", one["type"])] = one
        branches = list(found.values()) or ["null"]
        self._random.shuffle(branches)
        return branches

    def default(self, schema: Any) -> Any:
        """A default, of the first type of each union: Java cuts some of other types until they fit."""
        if isinstance(schema, list):
            return self.default(schema[0])
        match schema if isinstance(schema, str) else schema["type"]:
            case "record":
                return {one["name"]: self.default(one["type"]) for one in schema["fields"]}
            case "array":
                return [self.default(schema["items"]) for _ in range(self._random.randint(0, 2))]
            case "map":
                return {f"k{number}ü": self.default(schema["values"]) for number in range(self._random.randint(0, 2))}
        return self.value(schema)

    def value(self, schema: Any) -> Any:
        """A value as a default's JSON has it, each one of a union with its branch: ``(index, value)``."""
        if isinstance(schema, list):
            index = self._random.randrange(len(schema))
            return index, self.value(schema[index])
        kind = schema if isinstance(schema, str) else schema["type"]
        match kind:
            case "record":
                return {one["name"]: self.value(one["type"]) for one in schema["fields"]}
            case "array":
                return [self.value(schema["items"]) for _ in range(self._random.randint(0, 3))]
            case "map":
                return {f"k{number}ü": self.value(schema["values"]) for number in range(self._random.randint(0, 3))}
            case "enum":
                return self._random.choice(schema["symbols"])
            case "fixed":
                return self._text(schema["size"])
            case _:
                return self._plain(kind, schema if isinstance(schema, dict) else {})

    def _plain(self, kind: str, schema: dict[str, Any]) -> Any:
        source, logical = self._random, schema.get("logicalType")
        match logical:
            case "uuid":
                return f"0d5c7a2e-0000-4000-8000-{source.randrange(2**40):012x}"
            case "decimal":
                whole = source.randint(-(2**23), 2**23 - 1)  # in as few bytes as writers take
                size = (whole + (whole < 0)).bit_length() // 8 + 1
                return whole.to_bytes(size, "big", signed=True).decode("latin-1")
            case "date":
                return source.randint(-700_000, 2_900_000)
            case "time-millis":
                return source.randrange(86_400_000)
            case "time-micros":
                return source.randrange(86_400_000_000)
            case str():
                per_second = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}[logical.split("-")[-1]]
                return source.randint(-2_000_000_000, 9_000_000_000) * per_second + source.randrange(per_second)
        match kind:
            case "null":
                return None
            case "boolean":
                return source.random() < 0.5
            case "int":
                return source.choice([0, -1, 2**31 - 1, source.randint(-(2**31), 2**31 - 1)])
            case "long":
                return source.choice([0, 2**53 + 1, -(2**63), source.randint(-(2**63), 2**63 - 1)])
            case "float":
                return source.choice([0.5, -(2.0**100), 16777216.0])
            case "double":
                return source.choice([0.1, -1e300, source.random()])
            case "string":
                return source.choice(["", "ü€😀", "NaN", "a"])
        return self._text(source.randint(0, 3))

    def _text(self, size: int) -> str:
        return "".join(chr(self._random.randrange(256)) for _ in range(size))

    # --- readers

    def reader(self, schema: Any) -> Any:
        """A schema that can read what was written with this one."""
        if isinstance(schema, list):
            return [*schema] if self._random.random() < 0.5 else sorted(schema, key=lambda one: self._random.random())
        if isinstance(schema, str):
            wider = self._random.choice(WIDER.get(schema, [schema]))
            return ["null", wider] if self._random.random() < 0.2 and wider != "null" else wider
        match schema["type"]:
            case "record":
                return self._record_reader(schema)
            case "array":
                return {**schema, "items": self.reader(schema["items"])}
            case "map":
                return {**schema, "values": self.reader(schema["values"])}
            case "enum":
                symbols = self._random.sample(["A", "B", "C"], 2)
                return {**schema, "symbols": [*symbols, "D"], "default": "D"}
        return schema

    def _record_reader(self, schema: dict[str, Any]) -> dict[str, Any]:
        fields: list[dict[str, Any]] = []
        for one in schema["fields"]:
            if not fields or self._random.random() < 0.8:
                renamed = {"name": f"{one['name']}x", "aliases": [one["name"]]} if self._random.random() < 0.2 else {}
                fields.append({"name": one["name"], "type": self.reader(one["type"]), **renamed})
        for number in range(self._random.randint(0, 2)):
            kind = self.schema(2)
            fields.append({"name": f"new{number}", "type": kind, "default": self.default(kind)})
        self._random.shuffle(fields)
        return {**schema, "fields": fields}

    def _name(self, letter: str) -> str:
        return f"ns{next(self._names) % 3}.{letter}{next(self._names)}"


def written(schema: Any, value: Any) -> bytes:
    """Avro's bytes, by a rule for each type: no library has a part in what is expected."""
    if isinstance(schema, list):
        return _whole(value[0]) + written(schema[value[0]], value[1])
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "record":
            return b"".join(written(one["type"], value[one["name"]]) for one in schema["fields"])
        case "array":
            return (
                (_whole(len(value)) if value else b"")
                + b"".join(written(schema["items"], one) for one in value)
                + b"\0"
            )
        case "map":
            entries = (_sized(name.encode()) + written(schema["values"], one) for name, one in value.items())
            return (_whole(len(value)) if value else b"") + b"".join(entries) + b"\0"
        case "enum":
            return _whole(schema["symbols"].index(value))
        case "fixed":
            return bytes(value.encode("latin-1"))
        case "null":
            return b""
        case "boolean":
            return bytes([value])
        case "int" | "long":
            return _whole(value)
        case "float":
            return struct.pack("<f", value)
        case "double":
            return struct.pack("<d", value)
        case "string":
            return _sized(value.encode())
    return _sized(value.encode("latin-1"))


def _whole(value: int) -> bytes:
    left, made = (value << 1) ^ (value >> 63), b""
    while left > 127:
        made, left = made + bytes([left & 127 | 128]), left >> 7
    return made + bytes([left])


def _sized(data: bytes) -> bytes:
    return _whole(len(data)) + data
