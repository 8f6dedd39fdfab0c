"""Random messages of every kind and version, made from the tables alone: the codec under test is not involved.

``make_message`` draws from a ``Source``: Hypothesis, or a seeded ``Random`` if one run needs thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any, Protocol

from hypothesis import strategies as st

from oncelog.protocol.wire import Message
from tools.codec.schema import Field, MessageDef, StructDef, load_messages

MESSAGES = {message.name: message for message in load_messages()}
INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


class Source(Protocol):
    def integer(self, low: int, high: int) -> int: ...
    def text(self) -> str: ...
    def binary(self) -> bytes: ...
    def number(self) -> float: ...


class HypothesisSource:
    """Draws shrink, so a failing message is a small one."""

    TEXT = st.text(max_size=5)
    BINARY = st.binary(max_size=5)
    NUMBER = st.floats(allow_nan=False)

    def __init__(self, data: st.DataObject) -> None:
        self.draw: Callable[[st.SearchStrategy[Any]], Any] = data.draw

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def text(self) -> str:
        return str(self.draw(self.TEXT))

    def binary(self) -> bytes:
        return bytes(self.draw(self.BINARY))

    def number(self) -> float:
        return float(self.draw(self.NUMBER))


class RandomSource:
    TEXTS: tuple[str, ...] = ("", "a", "orders", "größe", "日本", "🙂", "x" * 126, "y" * 127, "z" * 300)

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def integer(self, low: int, high: int) -> int:
        edge = self.random.randrange(8)
        return low if edge == 0 else high if edge == 1 else self.random.randint(low, high)

    def text(self) -> str:
        return self.random.choice(self.TEXTS)

    def binary(self) -> bytes:
        return self.random.randbytes(self.random.choice((0, 1, 5, 127, 200)))

    def number(self) -> float:
        return self.random.uniform(-1e9, 1e9)


ValueOf = Callable[[Source, Field], Any]


def message_class(name: str) -> type[Message]:
    definition = MESSAGES[name]
    loaded: type[Message] = getattr(import_module(f"oncelog.protocol.generated.{definition.module}"), name)
    return loaded


def versions(definition: MessageDef) -> range:
    return range(definition.versions.low, definition.versions.high + 1)


def any_scalar(source: Source, item: Field) -> Any:
    """A value of the field's type, whatever it means."""
    match item.type:
        case "bool":
            return source.integer(0, 1) == 1
        case "uint16":
            return source.integer(0, 65535)
        case "uuid":
            return source.integer(0, 2**128 - 1).to_bytes(16, "big")
        case "float64":
            return source.number()
        case "string":
            return source.text()
        case "bytes" | "records":
            return source.binary()
    bits = INTEGERS[item.type]
    return source.integer(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def make_message(name: str, version: int, source: Source, scalar: ValueOf = any_scalar) -> Message:
    """A message in which every field that the version has holds any value it may, and every other its default."""
    definition = MESSAGES[name]
    module = import_module(f"oncelog.protocol.generated.{definition.module}")
    made: Message = _make_struct(module, definition.root, version, source, scalar)
    return made


def _make_struct(module: Any, struct: StructDef, version: int, source: Source, scalar: ValueOf) -> Any:
    values: dict[str, Any] = {}
    for item in struct.fields:
        is_tagged = version in item.tagged
        if version not in item.versions or (is_tagged and source.integer(0, 1)):
            continue
        values[item.attribute] = _make_value(module, item, version, source, scalar)
    return getattr(module, struct.name)(**values)


def _make_value(module: Any, item: Field, version: int, source: Source, scalar: ValueOf) -> Any:
    if version in item.nullable and source.integer(0, 3) == 0:
        return None

    def element() -> Any:
        if item.struct:
            return _make_struct(module, item.struct, version, source, scalar)
        return scalar(source, item)

    return [element() for _ in range(source.integer(0, 2))] if item.is_array else element()
