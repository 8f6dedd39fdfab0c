"""Lists that programs hand in: names, partitions. A text where a list belongs is refused, not taken letter by letter.

Called by the clients' methods before anything is sent. All raise TypeError with what was given and what is right.
"""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.types import TopicPartition


def names(values: Iterable[str], what: str) -> list[str]:
    """Texts that are not empty, without repetitions, in the order given.

    :param what: what is listed, in the plural: "topics".
    """
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, Iterable):
        raise TypeError(f"a list of {what} is needed, not {values!r}; write [{values!r}] for one")
    found = list(values)
    for value in found:
        if not isinstance(value, str) or not value:
            raise TypeError(f"{what} are named by texts that are not empty, not by {value!r}")
    return list(dict.fromkeys(found))


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
            return TopicPartition(topic, number)
    raise TypeError(f"a partition is a TopicPartition(topic, number), not {value!r}")


__all__ = ["names", "partition", "partitions"]
