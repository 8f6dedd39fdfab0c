"""What is read can be written again, byte for byte: through Python's values with the types' names, and through JSON."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from oncelog.schemas.arrow.avro_types import AvroTypes
from oncelog.schemas.arrow.decoder import decoder_of
from oncelog.schemas.arrow.value_reading import ReaderSchema
from oncelog.schemas.arrow.value_writing import ColumnWriter
from oncelog.schemas.avro.values import EXACT, NAMED, PYTHON
from oncelog.schemas.avro_codec import AvroCodec
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import Schema
from tests.support.random_avro import RandomAvro, written


def codec_of(schema: Any) -> AvroCodec:
    return AvroCodec(Schema(json.dumps(schema)), {})


@st.composite
def payloads(draw: st.DrawFn) -> tuple[AvroCodec, bytes]:
    source = RandomAvro(random.Random(draw(st.integers(0, 2**32))))
    schema = {
        "type": "record",
        "name": "Root",
        "fields": [{"name": "a", "type": source.union(3)}, *source.record(3)["fields"]],
    }
    return codec_of(schema), written(schema, source.value(schema))


@given(made=payloads())
def test_json_is_written_again_as_the_same_bytes(made: tuple[AvroCodec, bytes]) -> None:
    codec, payload = made
    shown, _ = codec.decode_json(payload, position=0)
    assert codec.encode(codec.from_json(json.loads(json.dumps(shown))), strict=True) == payload


@given(made=payloads())
def test_values_with_the_names_of_types_are_written_again_as_the_same_bytes(made: tuple[AvroCodec, bytes]) -> None:
    codec, payload = made
    assert codec.encode(codec.decode(payload, position=0, form=NAMED), strict=True) == payload


@given(made=payloads())
def test_decoded_values_are_encoded_to_an_equal_value_or_refused_as_ambiguous(made: tuple[AvroCodec, bytes]) -> None:
    """Numbers may move into another type of a union, where they are the same number; nothing else does."""
    codec, payload = made
    value = codec.decode(payload, position=0, form=PYTHON)
    try:
        again = codec.encode(value, strict=True)
    except SchemaError as error:
        if "alike: name the type, as in" in str(error):
            return
        raise
    assert codec.decode(again, position=0) == value


@given(made=payloads())
def test_columns_are_written_again_as_the_same_value(made: tuple[AvroCodec, bytes]) -> None:
    """``from_registry`` and ``to_registry``: each type of a union is a member of a struct; numbers may share one."""
    codec, payload = made
    types = AvroTypes(codec.parsed)
    try:
        decoder = decoder_of(types)
    except SchemaError:
        return
    rows, problems = decoder.read([bytes(5) + payload], {bytes(5): decoder.reading(types)})
    assert problems == {}
    target = ReaderSchema("s", 1, 7, Schema(json.dumps(codec.parsed)))
    (written_again,) = ColumnWriter(target).write(rows).to_pylist()
    again = codec.decode(written_again, form=EXACT)
    assert _numbers_alike(again) == _numbers_alike(codec.decode(payload, position=0, form=EXACT))


def _numbers_alike(value: Any) -> Any:
    """Without the names of types of numbers: one column holds an int and a long, a float and a double."""
    if isinstance(value, dict):
        return {name: _numbers_alike(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_numbers_alike(one) for one in value]
    if isinstance(value, tuple):
        is_number = value[0] in ("int", "long", "float", "double")
        return _numbers_alike(value[1]) if is_number else (value[0], _numbers_alike(value[1]))
    return value
