"""Checks arguments that programs pass: names, numbers, lists, partitions, positions. A string instead of a list is
refused.

Called by the clients' methods before anything is sent. A wrong type raises TypeError, a number that no request can
carry NumberOutOfRangeError; both messages name the given value and the allowed ones. ``admin_arguments`` checks the
admin client's own arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from math import isnan
from operator import index
from typing import Any, SupportsIndex, TypeVar

from oncelog.client.core.client_errors import IllegalStateError, NumberOutOfRangeError
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

Offsets = Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]]
"""Positions in the forms that programs may use: an offset, a pair of offset and metadata, or ``OffsetAndMetadata``."""

ARROW_MISSING = "Arrow tables need pyarrow and numpy: pip install pyarrow numpy"

MAX_NUMBERS = {8: 2**7 - 1, 16: 2**15 - 1, 32: 2**31 - 1, 64: 2**63 - 1}
"""The largest integer that a field of the protocol can hold, by its size in bits."""


def names(values: Iterable[str], what: str) -> list[str]:
    """The names as a list without repetitions, in the order given; each must be a non-empty string.

    :param what: what the list contains, in the plural: "topics".
    """
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, Iterable):
        raise TypeError(f"a list of {what} is needed, not {values!r}; write [{values!r}] for one")
    return list(dict.fromkeys(name(value, what) for value in values))


def name(value: object, what: str) -> str:
    """The name, checked: a non-empty string that the protocol can encode.

    :param what: the kind of thing that the string names, in the plural: "topics".
    """
    if not isinstance(value, str) or not value:
        raise TypeError(f"{what}: each must be a str that is not empty, not {value!r}")
    return _writable(value, what)


def text(value: object, what: str) -> str:
    """The text, checked: a string that the protocol can encode, possibly empty.

    :param what: the argument's name: "group_id".
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be str, not {value!r}")
    return _writable(value, what)


def _writable(value: str, what: str) -> str:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TypeError(f"{what}: text that can be encoded in UTF-8 is needed, not {value!r}") from None
    return value


def whole(value: object, what: str, bits: int = 64) -> int:
    """The number as an int, checked: an integer, possibly of another library's type, that fits into ``bits`` bits;
    floats and strings are refused."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what} must be int, not {type(value).__name__}") from None
    if not -MAX_NUMBERS[bits] - 1 <= number <= MAX_NUMBERS[bits]:
        raise NumberOutOfRangeError(
            f"{what}={number} is out of range: it must be {-MAX_NUMBERS[bits] - 1} to {MAX_NUMBERS[bits]}"
        )
    return number


def seconds(value_ms: object, what: str) -> float:
    """A duration given in ms, in seconds; infinity is allowed."""
    if isinstance(value_ms, float) and not isnan(value_ms):
        return value_ms / 1000
    return whole(value_ms, what) / 1000


def wholes(values: Iterable[int], what: str, bits: int = 64) -> list[int]:
    """Integers, in the order given.

    :param what: what the list contains, in the plural: "producer ids".
    """
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, Iterable):
        raise TypeError(f"a list of {what} is needed, not {values!r}; write [{values!r}] for one")
    return [whole(value, f"each of the {what}", bits) for value in values]


def listed(values: Iterable[T], kind: type[T]) -> list[T]:
    """The values as a list, checked: each must be an instance of ``kind``."""
    if isinstance(values, (str, bytes, bytearray, kind)) or not isinstance(values, Iterable):
        raise TypeError(misfit(kind, values, "a list of {wanted} is needed, not {given}"))
    found = list(values)
    for value in found:
        if not isinstance(value, kind):
            raise TypeError(misfit(kind, value, "a list of {wanted} is needed, not one with {given} in it"))
    return found


def misfit(kind: type, value: object, sentence: str) -> str:
    """The message of an error about a value of the wrong class. If both classes have the same name, as another client's
    class may, the message names both modules.

    :param sentence: the message, with ``{wanted}`` for the class and ``{given}`` for the value.
    """
    for other in type(value).__mro__:
        if other is not kind and other.__name__ == kind.__name__:
            return sentence.format(wanted=_public_name(kind), given=_public_name(other))
    return sentence.format(wanted=kind.__name__, given=repr(value))


def _public_name(kind: type) -> str:
    """The full name under which programs import a class: from a package above its module, or from the asyncio
    client."""
    parts = kind.__module__.split(".")
    packages = [".".join(parts[:size]) for size in range(1, len(parts))]
    for package in (*packages, "oncelog.client.aio"):
        if getattr(sys.modules.get(package), kind.__name__, None) is kind:
            return f"{package}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__name__}"


def function(value: T | None, what: str) -> T | None:
    """A callable or None, checked.

    :param what: the argument's name: "value_serializer".
    """
    if value is not None and not callable(value):
        raise TypeError(f"{what} must be a function, not {value!r}")
    return value


def walked(values: T) -> T | list[Any]:
    """The items of an iterator as a list, because iterating may call a blocking client, which must not happen on the
    client's thread. Any other value is returned unchanged and unchecked."""
    if isinstance(values, Iterable) and not isinstance(values, Collection):
        return list(values)
    return values


def mapping(values: Mapping[K, V], form: str) -> Mapping[K, V]:
    """The mapping, checked.

    :param form: the expected form, for messages: "{topic: number}".
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"{form} is needed, not {values!r}")
    return values


def by_partition(values: Mapping[TopicPartition, V], what: str) -> dict[TopicPartition, V]:
    """The mapping, checked, with each key as a TopicPartition.

    :param what: what the values are, in the plural: "offsets".
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"{what} are given by partition, as {{TopicPartition(topic, number): ...}}, not {values!r}")
    return {partition(key): value for key, value in values.items()}


def partitions(values: object) -> list[TopicPartition]:
    """The partitions as a list without repetitions, in the order given."""
    one = isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], str)
    if one or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(
            f"a list of partitions is needed, not {values!r}; write [TopicPartition(topic, number)] for one"
        )
    return list(dict.fromkeys(partition(value) for value in values))


def partition(value: object) -> TopicPartition:
    """The partition, checked; a plain pair is accepted, too."""
    if value.__class__ is TopicPartition:
        known: TopicPartition = value
        if known.partition.__class__ is int and 0 <= known.partition <= MAX_NUMBERS[32]:
            name(known.topic, "topics")
            return known
    match value:
        case (str(topic), SupportsIndex() as given):
            number = index(given)
            if not 0 <= number <= MAX_NUMBERS[32]:
                raise NumberOutOfRangeError(
                    f"there can be no partition {number} of topic {topic!r}: numbers are 0 to {MAX_NUMBERS[32]}"
                )
            return TopicPartition(name(topic, "topics"), number)
    raise TypeError(misfit(TopicPartition, value, "a partition is given as {wanted}(topic, number), not {given}"))


def times(values: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Times in ms by partition."""
    found = by_partition(values, "times in ms")
    return {key: whole(when, f"the time for {key}") for key, when in found.items()}


def offsets(given: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    """The positions to commit, checked.

    :raises IllegalStateError: an offset is negative.
    """
    found = by_partition(given, "offsets")
    return {key: _position(key, position) for key, position in found.items()}


def _position(key: TopicPartition, given: object) -> OffsetAndMetadata:
    parts: tuple[object, ...]
    match given:
        case (_, _) | (_, _, _):
            parts = tuple(given)
        case str() | bytes() | bytearray() | (*_,):
            raise TypeError(
                f"the offset of {key} must be a number, (number, string) or OffsetAndMetadata, not {given!r}"
            )
        case _:
            parts = (given,)
    offset = whole(parts[0], f"the offset of {key}")
    if offset < 0:
        raise IllegalStateError(f"offset {offset} of {key} is negative; it must be 0 or more")
    metadata = "" if len(parts) < 2 or parts[1] is None else text(parts[1], f"the metadata of {key}")
    epoch = whole(parts[2], f"the leader epoch of {key}", 32) if len(parts) > 2 else -1
    return OffsetAndMetadata(offset, metadata, epoch)


def group(given: str | ConsumerGroupMetadata) -> ConsumerGroupMetadata:
    """The group that commits, with the member if one was given; a string is a group id."""
    if isinstance(given, str):
        return ConsumerGroupMetadata(text(given, "group_id"))
    if not isinstance(given, ConsumerGroupMetadata):
        raise TypeError(
            misfit(
                ConsumerGroupMetadata,
                given,
                "group_id must be str or {wanted}, as consumer.group_metadata() gives it, not {given}",
            )
        )
    text(given.group_id, "group_id")
    return given


__all__ = [
    "MAX_NUMBERS",
    "Offsets",
    "by_partition",
    "function",
    "group",
    "listed",
    "mapping",
    "misfit",
    "name",
    "names",
    "offsets",
    "partition",
    "partitions",
    "seconds",
    "text",
    "times",
    "walked",
    "whole",
    "wholes",
]
