"""Filters with which templates format numbers, times and outcomes. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

from oncelog.client.aio.admin.log_reader import RecordOutcome
from oncelog.runtime.shown import show_time

_CLASSES = {
    RecordOutcome.COMMITTED: "committed",
    RecordOutcome.ABORTED: "aborted",
    RecordOutcome.OPEN: "open",
    RecordOutcome.ENDED: "ended",
    RecordOutcome.NOT_TRANSACTIONAL: "plain",
    RecordOutcome.COMMIT_MARKER: "marker-commit",
    RecordOutcome.ABORT_MARKER: "marker-abort",
    RecordOutcome.CONTROL: "marker",
}


def number(value: int | float | None) -> str:
    """A number with a narrow space between thousands; a dash if it is unknown."""
    if value is None:
        return "–"
    return f"{value:,.1f}".replace(",", "\u202f") if isinstance(value, float) else f"{value:,}".replace(",", "\u202f")


def counted(count: int, noun: str) -> str:
    """A number with its noun: ``1 group``, ``2 groups``."""
    return f"{number(count)} {noun}" if count == 1 else f"{number(count)} {noun}s"


def moment(time_ms: int | None) -> Markup:
    """The HTML of a time, which the page's script shows in the visitor's time zone; UTC without the script."""
    text = show_time(time_ms) if time_ms is not None else None
    if text is None:
        return Markup("–")
    if not text.endswith("Z"):
        return escape(text)
    return Markup('<time datetime="{}">{} UTC</time>').format(text, text[:-5].replace("T", " "))


def span(duration_ms: int | float | None) -> str:
    """A duration in its two largest units."""
    if duration_ms is None or duration_ms < 0:
        return "–"
    seconds = int(duration_ms // 1000)
    if seconds < 1:
        return f"{int(duration_ms)} ms"
    units = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    first = next(i for i, (amount, _) in enumerate(units) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in units[first : first + 2] if amount)


def size(amount: int) -> str:
    """A size in a readable unit; empty for null."""
    if amount < 0:
        return "null"
    if amount < 1024:
        return f"{amount} B"
    return f"{amount / 1024:.1f} KB" if amount < 1024 * 1024 else f"{amount / 1024 / 1024:.1f} MB"


def outcome_class(outcome: RecordOutcome) -> str:
    return _CLASSES[outcome]


def outcome_word(outcome: RecordOutcome) -> str:
    return outcome.value


FILTERS: dict[str, Callable[..., Any]] = {
    "number": number,
    "counted": counted,
    "moment": moment,
    "span": span,
    "size": size,
    "outcome_class": outcome_class,
    "outcome_word": outcome_word,
}
