"""What a type of a schema becomes in Arrow. Pure; called by the three kinds of schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from oncelog.schemas.avro_json import to_json


class Shape(NamedTuple):
    """A type, and what makes a value of it; the codec's None stays None."""

    type: pa.DataType
    convert: Callable[[Any], Any]

    def __call__(self, value: Any) -> Any:
        return None if value is None else self.convert(value)


def plain(kind: pa.DataType) -> Shape:
    """Values as the codec reads them."""
    return Shape(kind, lambda value: value)


def _json_text(value: Any) -> str:
    return json.dumps(to_json(value), ensure_ascii=False)


AS_JSON = Shape(pa.string(), _json_text)


def listed(item: Shape) -> Shape:
    return Shape(pa.list_(item.type), lambda value: [item(one) for one in value])


def mapped(item: Shape, key: Shape | None = None) -> Shape:
    key = key or plain(pa.string())
    return Shape(
        pa.map_(key.type, item.type), lambda value: [(key.convert(name), item(one)) for name, one in value.items()]
    )


def struct(fields: Mapping[str, Shape]) -> Shape:
    """Fields that the value lacks are null, and those that the schema does not have are left out."""
    if not fields:
        return AS_JSON
    return Shape(
        pa.struct([pa.field(name, shape.type) for name, shape in fields.items()]),
        lambda value: {name: shape(value.get(name)) for name, shape in fields.items()},
    )
