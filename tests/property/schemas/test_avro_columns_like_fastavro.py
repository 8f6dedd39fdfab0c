"""Random schemas, values and bytes: columns hold what fastavro reads, and no bytes do harm."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.schemas.arrow import decoder
from oncelog.schemas.arrow.avro_types import AvroColumns, AvroTypes
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.structs import Schema

ENGINES = [decoder.RowDecoder] if decoder.compiled is None else [decoder.CompiledDecoder, decoder.RowDecoder]
HEAD = bytes(5)
VALUES = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=5),
    "bytes": st.binary(max_size=5),
}


@st.composite
def schemas_and_values(draw: st.DrawFn, depth: int = 3) -> tuple[Any, st.SearchStrategy[Any]]:
    """A schema whose records have no names yet, and values of it as fastavro reads them."""
    kind = draw(st.sampled_from([*VALUES, *(["record", "array", "map", "optional"] if depth else [])]))
    if kind in VALUES:
        return kind, VALUES[kind]
    if kind == "record":
        inner = draw(st.lists(schemas_and_values(depth - 1), min_size=1, max_size=4))
        names = [f"f{i}" for i in range(len(inner))]
        fields = [{"name": one, "type": schema} for one, (schema, _) in zip(names, inner, strict=True)]
        each = dict(zip(names, (values for _, values in inner), strict=True))
        return {"type": "record", "fields": fields}, st.fixed_dictionaries(each)
    schema, values = draw(schemas_and_values(depth - 1))
    if kind == "array":
        return {"type": "array", "items": schema}, st.lists(values, max_size=3)
    if kind == "map":
        return {"type": "map", "values": schema}, st.dictionaries(st.text(max_size=3), values, max_size=3)
    if isinstance(schema, list):
        return schema, values
    return ["null", schema], st.none() | values


def records() -> st.SearchStrategy[tuple[Any, list[Any]]]:
    return schemas_and_values().flatmap(lambda pair: st.tuples(st.just(pair[0]), st.lists(pair[1], max_size=5)))


def row(schema: Any, value: Any) -> Any:
    if isinstance(schema, list):
        return None if value is None else row(schema[1], value)
    if isinstance(schema, str):
        return value
    if schema["type"] == "record":
        return {one["name"]: row(one["type"], value[one["name"]]) for one in schema["fields"]}
    if schema["type"] == "map":
        return [(name, row(schema["values"], one)) for name, one in value.items()]
    return [row(schema["items"], one) for one in value]


def whole(schema: Any) -> Any:
    """A record of the one value; each record in it gets a name of its own."""
    numbers = itertools.count()

    def named(schema: Any) -> Any:
        if isinstance(schema, list):
            return [named(one) for one in schema]
        if isinstance(schema, str):
            return schema
        made = {key: named(value) if key in ("items", "values") else value for key, value in schema.items()}
        if "fields" in made:
            made["name"] = f"R{next(numbers)}"
            made["fields"] = [{"name": one["name"], "type": named(one["type"])} for one in made["fields"]]
        return made

    return named({"type": "record", "fields": [{"name": "x", "type": schema}]})


def decoded(engine: Any, codec: AvroCodec, payloads: list[bytes]) -> tuple[Any, dict[int, Any]]:
    types = AvroTypes(codec.parsed)
    made = engine(types, AvroColumns(types))
    found, problems = made.read([HEAD + payload for payload in payloads], {HEAD: made.reading(types)})
    found.validate(full=True)
    return found.to_pylist(), problems


@pytest.mark.parametrize("engine", ENGINES)
@given(made=records())
def test_columns_hold_what_fastavro_wrote(engine: Any, made: tuple[Any, list[Any]]) -> None:
    schema, values = whole(made[0]), [{"x": value} for value in made[1]]
    codec = AvroCodec(Schema(json.dumps(schema)), {})
    rows, problems = decoded(engine, codec, [codec.encode(value) for value in values])
    assert problems == {}
    assert rows == [row(schema, value) for value in values]


@given(made=schemas_and_values(), payloads=st.lists(st.binary(max_size=30), max_size=5), data=st.data())
def test_any_bytes_are_read_or_refused_as_by_fastavro(
    made: tuple[Any, st.SearchStrategy[Any]], payloads: list[bytes], data: st.DataObject
) -> None:
    schema = whole(made[0])
    codec = AvroCodec(Schema(json.dumps(schema)), {})
    good = codec.encode({"x": data.draw(made[1])})
    if good:
        at = data.draw(st.integers(0, len(good) - 1))
        payloads.append(good[:at] + bytes([good[at] ^ 1 << data.draw(st.integers(0, 7))]) + good[at + 1 :])
    payloads.append(good)
    found = [decoded(engine, codec, payloads) for engine in ENGINES]
    for rows, problems in found:
        assert len(rows) == len(payloads)
        assert len(payloads) - 1 not in problems
        assert repr(rows) == repr(found[0][0])  # NaN is no number, and equals none
        assert {number: str(why) for number, why in problems.items()} == {
            number: str(why) for number, why in found[0][1].items()
        }
