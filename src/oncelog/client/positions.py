"""The options for the start and the end of a reading command: parses them into places in a log, and places into
offsets.

Called by the command line and the console. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from oncelog.errors import ConfigError
from oncelog.runtime import real_time
from oncelog.types import TopicPartition

EARLIEST, LATEST = -2, -1
"""The timestamps that mean the two ends of a log in ListOffsets."""
_AGO = re.compile(r"(\d+)(ms|s|m|h|d)")
_BARE_DATE = re.compile(r"(?:19|20)\d\d(?:[01]\d[0-3]\d)?")
_SECONDS, _FINER = re.compile(r"[1-9]\d{9}"), re.compile(r"\d{15,}")
"""Numbers that are times in seconds (of the years 2001 to 2286), and times in microseconds or nanoseconds."""
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_TIME = 100


class PositionKind(Enum):
    """The ways in which a place in the log may be given."""

    BEGINNING = "beginning"
    END = "end"
    OFFSET = "an offset"
    LAST = "a number of records before the end"
    TIME = "the first record at or after a time"


class LogPlace(NamedTuple):
    """A place in each partition. ``value`` is an offset, a number of records, or a time in ms since 1970, depending on
    ``kind``."""

    kind: PositionKind
    value: int = 0

    def lookup(self) -> int:
        """The timestamp with which ListOffsets finds this place, or the end from which it is counted."""
        match self.kind:
            case PositionKind.BEGINNING | PositionKind.OFFSET:
                return EARLIEST
            case PositionKind.END | PositionKind.LAST:
                return LATEST
            case PositionKind.TIME:
                return self.value


BEGINNING, END = LogPlace(PositionKind.BEGINNING), LogPlace(PositionKind.END)


def parse_offset(text: str) -> LogPlace:
    """Parse ``--offset``: a number, -N, beginning, end, or kcat's s@TIME."""
    if text in ("beginning", "earliest"):
        return BEGINNING
    if text in ("end", "latest"):
        return END
    if text.startswith("s@"):
        return LogPlace(PositionKind.TIME, parse_time("--offset", text[2:]))
    if re.fullmatch(r"-?\d+", text):
        number = int(text)
        return (
            LogPlace(PositionKind.OFFSET, number)
            if number >= 0 and text[0] != "-"
            else LogPlace(PositionKind.LAST, -number)
        )
    raise ConfigError(f"--offset takes a number, -N for the last N records, beginning, end or s@TIME, not {text!r}")


def parse_time(option: str, text: str, now_ms: int | None = None) -> int:
    """ms since 1970, from such a number, ISO 8601 (UTC unless it names a zone), or how long ago: 90s, 15m, 2h, 1d.

    A time before 1970 becomes 1970, because ListOffsets gives -1, -2 and so on other meanings. A year or a date without
    hyphens is refused: read as milliseconds it would fall in the first hours of 1970, before the start of every log.
    So are seconds, microseconds and nanoseconds, which would be a time in early 1970 or after the year 5000.
    """
    if _BARE_DATE.fullmatch(text):
        raise ConfigError(f"{option} takes a date as 2026-01-31, not {text}, which would be milliseconds since 1970")
    if _SECONDS.fullmatch(text):
        raise ConfigError(f"{option} takes ms since 1970, and {text} would be in early 1970: add 000 to seconds")
    if _FINER.fullmatch(text):
        raise ConfigError(
            f"{option} takes ms since 1970, and {text[:_LONGEST_TIME]} would be after the year 5000: leave out the "
            "last 3 digits of microseconds, 6 of nanoseconds"
        )
    try:
        return max(0, _time_ms(text, now_ms))
    except ValueError:
        raise ConfigError(
            f"{option} takes a time such as 2026-01-31T12:00 (UTC), ms since 1970, or 15m for 15 minutes ago, "
            f"not {text[:_LONGEST_TIME]!r}"
        ) from None


def _time_ms(text: str, now_ms: int | None) -> int:
    if len(text) > _LONGEST_TIME:
        raise ValueError(text)
    if text.isdecimal():
        return int(text)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        now = real_time.time_ms() if now_ms is None else now_ms
        return now - int(ago[1]) * _UNIT_MS[ago[2]]
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def offsets_of(
    place: LogPlace,
    found: Mapping[TopicPartition, int],
    first: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """The offset of ``place`` in each partition.

    :param found: the offsets that ListOffsets returned for ``place.lookup()``; -1 if no record is late enough.
    """
    match place.kind:
        case PositionKind.OFFSET:
            return dict.fromkeys(found, place.value)
        case PositionKind.LAST:
            return {name: max(first[name], end[name] - place.value) for name in found}
        case PositionKind.BEGINNING | PositionKind.END | PositionKind.TIME:
            return {name: end[name] if offset < 0 else offset for name, offset in found.items()}
