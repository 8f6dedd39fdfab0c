"""Defines settings classes: fields with Kafka's property name, a range or choices, and one line of documentation.

Used by ``config`` (topics, brokers) and ``client.core.config``; the reference page is generated from the same fields.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache
from typing import Any

from oncelog.errors import ConfigError
from oncelog.kafka_properties import MAX_INT, MAX_SHORT, Allowed, Kind, parse_text


def setting(
    name: str,
    default: Any,
    doc: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    also: tuple[int, ...] = (),
    choices: tuple[str, ...] = (),
    kind: Kind | None = None,
    effect: bool = True,
) -> Any:
    """A field of a settings class.

    :param name: Kafka's property name.
    :param low: least allowed value, for numbers.
    :param also: values allowed outside of the range.
    :param choices: allowed words; for a list property, the words it may contain.
    :param kind: needed only if it does not follow from the default and the range.
    :param effect: False for a property that is checked and shown but changes nothing in this implementation.
    """
    if isinstance(default, list):
        default = tuple(default)
    metadata = {
        "property": name,
        "doc": doc,
        "low": low,
        "high": high,
        "also": also,
        "choices": choices,
        "kind": kind or _kind_of(default, high),
        "effect": effect,
    }
    return field(default=default, metadata=metadata)


def _kind_of(default: Any, high: float) -> Kind:
    match default:
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.SHORT if high <= MAX_SHORT else Kind.INT if high <= MAX_INT else Kind.LONG
        case float():
            return Kind.DOUBLE
        case tuple():
            return Kind.LIST
        case _:
            return Kind.STRING


@cache
def properties(cls: Hashable) -> Mapping[str, Field[Any]]:
    """The fields of a settings class by property name, in the order of declaration."""
    return {f.metadata["property"]: f for f in fields(cls) if "property" in f.metadata}  # type: ignore[arg-type]


def default_of(f: Field[Any]) -> Any:
    if f.default is MISSING:
        raise ConfigError(f"the setting {f.metadata['property']} has no default and must be given")
    return f.default


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean X?`` for the nearest known name, or nothing."""
    import difflib  # takes 5 ms, so imported only after a mistake

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def parse_value(f: Field[Any], text: str) -> Any:
    """The typed value of one property, checked; raises ConfigError naming property, value and what is allowed."""
    meta = f.metadata
    return parse_text(
        meta["property"],
        meta["kind"],
        text,
        Allowed(_whole(meta["low"]), _whole(meta["high"]), meta["also"], meta["choices"]),
    )


def _whole(bound: float) -> float:
    """A bound without a fraction if it is whole, as in Kafka's messages."""
    return bound if math.isinf(bound) or bound != int(bound) else int(bound)
