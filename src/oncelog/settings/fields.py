"""Defines settings classes: fields with Kafka's property name, a range or choices, and one line of documentation.

Used by ``config`` (topics, brokers) and ``client.core.config``; the reference page is generated from the same fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, NoReturn, dataclass_transform

from oncelog.errors import ConfigError
from oncelog.settings.kafka_properties import MAX_INT, MAX_SHORT, AllowedValues, PropertyKind, parse_text


def setting(
    name: str,
    default: Any,
    doc: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    also: tuple[int, ...] = (),
    choices: tuple[str, ...] = (),
    any_case: bool = False,
    kind: PropertyKind | None = None,
    effect: bool = True,
) -> Any:
    """A field of a settings class.

    :param name: Kafka's property name.
    :param low: the minimum, for numbers.
    :param also: values allowed outside of the range.
    :param choices: allowed words; for a list property, the words it may contain.
    :param any_case: whether a word may be written in other case; its value is the word as in ``choices``.
    :param kind: needed only if the default and the range do not determine it.
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
        "any_case": any_case,
        "kind": kind or _kind_of(default, high),
        "effect": effect,
    }
    return field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Settings:
    """Base of the settings classes: each is a frozen dataclass with these methods instead of generated ones.

    Generated methods would be compiled at import, which for two hundred fields takes longer than the rest of the
    import.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        dataclass(init=False, repr=False, eq=False)(cls)

    def __init__(self, **values: Any) -> None:
        own = self.__dict__
        for name, f in self.__dataclass_fields__.items():
            if name in values:
                own[name] = values.pop(name)
            elif f.default is not MISSING:
                own[name] = f.default
            elif f.default_factory is not MISSING:
                own[name] = f.default_factory()
        if values:
            raise TypeError(f"{type(self).__name__} has no settings {', '.join(values)}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Adjust values after they were set; classes may override this method."""

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __repr__(self) -> str:
        shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
        return f"{type(self).__qualname__}({shown})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in fields(self) if f.compare)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, f.name) for f in fields(self) if (f.compare if f.hash is None else f.hash)))


def _kind_of(default: Any, high: float) -> PropertyKind:
    match default:
        case bool():
            return PropertyKind.BOOLEAN
        case int():
            return (
                PropertyKind.SHORT if high <= MAX_SHORT else PropertyKind.INT if high <= MAX_INT else PropertyKind.LONG
            )
        case float():
            return PropertyKind.DOUBLE
        case tuple():
            return PropertyKind.LIST
        case _:
            return PropertyKind.STRING


@cache
def properties(cls: type[Settings]) -> Mapping[str, Field[Any]]:
    """The fields of a settings class by property name, in the order of declaration."""
    return {f.metadata["property"]: f for f in fields(cls) if "property" in f.metadata}


def default_of(f: Field[Any]) -> Any:
    if f.default is MISSING:
        raise ConfigError(f"the setting {f.metadata['property']} has no default and must be given")
    return f.default


def nearest(name: str, known: Iterable[str]) -> str:
    """The text ``; did you mean X?`` for the nearest known name; empty if no name is near."""
    import difflib  # imported only after a mistake: it takes 5 ms

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def parse_value(f: Field[Any], text: str) -> Any:
    """The typed value of one property, checked; raises ConfigError naming property, value and what is allowed."""
    meta = f.metadata
    words, any_case = meta["choices"], meta["any_case"]
    value = parse_text(
        meta["property"],
        meta["kind"],
        text,
        AllowedValues(_whole(meta["low"]), _whole(meta["high"]), meta["also"], words, any_case),
    )
    return next(word for word in words if word.upper() == str(value).upper()) if any_case else value


def _whole(bound: float) -> float:
    """A bound as an integer if it is whole, because Kafka's messages show it so."""
    return bound if math.isinf(bound) or bound != int(bound) else int(bound)
