"""Lists that programs hand in: names, partitions, positions. A text where a list belongs is refused.

Called by the clients' methods before anything is sent. A wrong type is a TypeError: what was given, what is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index

from oncelog.client.core.errors import IllegalStateError
from oncelog.client.core.structs import OffsetAndMetadata, TopicPartition

Offsets = Mapping[TopicPartition, OffsetAndMetadata | int | tuple[int, str]]
"""Positions as programs give them: numbers, pairs with a text, or ``OffsetAndMetadata``."""


def names(values: Iterable[str], what: str) -> list[str]:
    """Texts that are not empty, without repetitions, in the order given.

    :param what: what is listed, in the plural: "topics".
    """
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, Iterable):
        raise TypeError(f"a list of {what} is needed, not {values!r}; write [{values!r}] for one")
    return list(dict.fromkeys(name(value, what) for value in values))


def name(value: object, what: str) -> str:
    """A text that is not empty and can be sent.

    :param what: what it names, in the plural: "topics".
    """
    if not isinstance(value, str) or not value:
        raise TypeError(f"{what}: each must be a str that is not empty, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TypeError(f"{what} are named by texts that UTF-8 can write, not by {value!r}") from None
    return value


def whole(value: object, what: str) -> int:
    """A whole number, of another library too; a float or a text is none."""
    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{what} must be int, not {type(value).__name__}") from None


def partitions(values: object) -> list[TopicPartition]:
    """Partitions, without repetitions, in the order given."""
    one = isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], str)
    if one or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(
            f"a list of partitions is needed, not {values!r}; write [TopicPartition(topic, number)] for one"
        )
    return list(dict.fromkeys(partition(value) for value in values))


def partition(value: object) -> TopicPartition:
    """One partition; a plain pair will do."""
    match value:
        case (str(topic), int(number)) if not isinstance(value, str):
            return TopicPartition(name(topic, "topics"), number)
    raise TypeError(f"a partition is a TopicPartition(topic, number), not {value!r}")


def offsets(given: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    """Positions to commit.

    :raises IllegalStateError: an offset is negative.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"offsets are given by partition, as {{TopicPartition(topic, number): offset}}, not {given!r}")
    positions: dict[TopicPartition, OffsetAndMetadata] = {}
    for name, position in given.items():
        key = TopicPartition(*name)
        if isinstance(position, OffsetAndMetadata):
            positions[key] = position
        elif isinstance(position, int):
            positions[key] = OffsetAndMetadata(position)
        else:
            positions[key] = OffsetAndMetadata(*position)
        if positions[key].offset < 0:
            raise IllegalStateError(f"offset {positions[key].offset} of {key} is negative; it must be 0 or more")
    return positions


__all__ = ["Offsets", "names", "offsets", "partition", "partitions", "whole"]
