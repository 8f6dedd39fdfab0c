"""Describes the plan of a batch in messages: when it was made, and up to which offsets it reads. Pure.

Called by the modules of this package that read plans.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from oncelog.runtime import real_json as json
from oncelog.spark.kafka.place import Offsets, Place

_NAMED = re.compile(r"([A-Za-z0-9_]+):(.*)", re.DOTALL)
"""Matches the line of a named source (``readStream.name()``, PySpark 4.2 and later); the line of an unnamed source is
JSON or ``-``.
"""
_SHOWN = 1000
"""The maximum length of a plan's offsets in a message; a message may name two plans."""


def plan_description(planned_at_ms: int, offsets: str, fingerprint: str) -> str:
    """Describe the plan of a batch for a message.

    :param offsets: the batch's end offsets, one line per source, as Spark wrote them; empty if they are not known.
    """
    shown = bare_offsets(offsets).replace("\n", ", ")
    up_to, more = f"up to {shown}" if shown else "offsets too long to show", ""
    if len(shown) > _SHOWN:
        up_to, more = f"up to {shown[:_SHOWN]}...", ", all offsets with oncelog pipeline doctor CHECKPOINT --json"
    return f"planned at {time_of(planned_at_ms)}, {up_to} (fingerprint {fingerprint[:12]}{more})"


def bare_offsets(offsets: str) -> str:
    """The offsets alone, as ``startingOffsets`` takes them: without topic ids, leader epochs and start offsets."""
    return "\n".join(_bare(line) for line in offsets.split("\n"))


def next_start(line: str) -> str:
    """The ``startingOffsets`` with which a query continues at the offsets in a source's line, in the same topics and
    logs; the line unchanged if it does not contain offsets of topics.
    """
    place = Place.in_line(line)
    if place is None or not place.offsets:
        return line
    return json.dumps(place._replace(offsets=place.present, start={}).as_json())


def offsets_by_source(offsets: str) -> dict[str, str]:
    """The end offsets of a plan by source. A source is identified by its name, or without one by its line number from
    0."""
    found: dict[str, str] = {}
    for number, line in enumerate(offsets.split("\n")):
        named = _NAMED.fullmatch(line)
        found[named[1] if named else str(number)] = named[2] if named else line
    return found


def is_ours(line: str) -> bool:
    """Whether oncelog's source wrote the line of a source's first batch: only its lines contain a start."""
    place = Place.in_line(line)
    return place is not None and bool(_begin(place))


def _begin(first: Place) -> Offsets:
    """The start offsets of a source's first batch; empty if its line does not contain them."""
    # The line of an empty first batch has an end offset but no start
    return first.start or (first.offsets if first.ids or first.epochs or first.marks else {})


def continues(until: str, begin: str) -> bool:
    """Whether a source continues: each partition begins at its old end in the same topic, or is new and may begin
    anywhere.

    :param until: the old line of the source, with the ends.
    :param begin: the line of its first batch afterwards.
    """
    old, new = Place.in_line(until), Place.in_line(begin)
    if old is None or new is None:
        return False
    begins = _begin(new)
    same = all(new.ids.get(topic, id_) == id_ for topic, id_ in old.ids.items())
    return same and all(begins.get(partition) == end for partition, end in old.offsets.items())


def _bare(line: str) -> str:
    """One source's line for a message; unchanged if the source is not oncelog's."""
    if named := _NAMED.fullmatch(line):
        return f"{named[1]}:{_bare(named[2])}"
    place = Place.in_line(line)
    return json.dumps(Place(place.present).as_json()) if place is not None and place.offsets else line


def time_of(at_ms: int) -> str:
    """A time in UTC, for a message."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms"


__all__ = ["bare_offsets", "continues", "is_ours", "next_start", "offsets_by_source", "plan_description", "time_of"]
