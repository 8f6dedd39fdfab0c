"""What happened in a simulation, in order, and a fingerprint of it.

Every delivery and fault, and every start and end of a process, is recorded here. Two runs of a seed have the same
timeline, unless something is not deterministic. Two runs can be compared by their fingerprints, so neither timeline
need be kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple


class TimelineEntry(NamedTuple):
    """One entry of a timeline: nanoseconds of virtual time, which process or connection, and what happened."""

    at_ns: int
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.at_ns / 1e9:12.6f}  {self.who:<20} {self.what}"


class Timeline:
    """The timeline of one run.

    :param keep: False keeps only the fingerprint and the number of lines.
    """

    def __init__(self, *, keep: bool = True) -> None:
        self._keep = keep
        self._digest = hashlib.blake2b(digest_size=16)
        self._lines: list[TimelineEntry] = []
        self.count = 0

    def note(self, at_ns: int, who: str, what: str) -> None:
        self.count += 1
        self._digest.update(f"{at_ns} {who} {what}\n".encode())
        if self._keep:
            self._lines.append(TimelineEntry(at_ns, who, what))

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything so far."""
        return self._digest.hexdigest()

    @property
    def entries(self) -> Sequence[TimelineEntry]:
        return self._lines

    def text(self, last: int | None = None) -> str:
        """One line for each entry, or for the ``last`` ones."""
        lines = self._lines if last is None else self._lines[-last:]
        return "\n".join(map(str, lines))


def first_difference(one: Timeline, other: Timeline) -> tuple[TimelineEntry | None, TimelineEntry | None] | None:
    """The first entry of each timeline at which the two differ (None for a timeline that has ended); None if they are
    equal."""
    for mine, others in zip(one.entries, other.entries, strict=False):
        if mine != others:
            return mine, others
    count = len(one.entries)
    if count == len(other.entries):
        return None
    longer = one.entries if count > len(other.entries) else other.entries
    extra = longer[min(count, len(other.entries))]
    return (extra, None) if longer is one.entries else (None, extra)


__all__ = ["Timeline", "TimelineEntry", "first_difference"]
