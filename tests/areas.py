"""How long the tests of each area took, beside a ceiling: a report at the end of ``make test``, which fails nothing.

Seconds are those of all workers together, so they add up to about four times the time of the run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.schedule import CEILINGS


class AreaTime(NamedTuple):
    """The seconds of an area, and the most that it should take; None for an area without a ceiling."""

    area: str
    seconds: float
    ceiling: int | None

    @property
    def line(self) -> str:
        over = " OVER" if self.ceiling is not None and self.seconds > self.ceiling else ""
        return f"| `{self.area}` | {self.seconds:.0f} | {'' if self.ceiling is None else self.ceiling}{over} |"


def area_of(node: str) -> str:
    """``tests/unit`` of a test below it; the next folder too for integration tests."""
    parts = node.partition("::")[0].split("/")[1:-1]
    return "/".join(parts[:2] if parts[:1] == ["integration"] else parts[:1])


def times(reports: Iterator[pytest.TestReport]) -> list[AreaTime]:
    """Of each area with tests, the slowest first; set-up and teardown count."""
    spent: Counter[str] = Counter()
    for report in reports:
        spent[area_of(report.nodeid)] += report.duration  # type: ignore[assignment]
    return [AreaTime(area, seconds, CEILINGS.get(area)) for area, seconds in spent.most_common()]


def report(terminal: pytest.TerminalReporter) -> None:
    """Write the table below the test results, and into the summary of a job of GitHub's."""
    found = times(
        entry for entries in terminal.stats.values() for entry in entries if isinstance(entry, pytest.TestReport)
    )
    lines = ["| area | seconds | ceiling |", "|---|---:|---:|", *(entry.line for entry in found)]
    terminal.section("seconds of each area, of all workers together")
    for line in lines:
        terminal.write_line(line)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
