"""What tests of versions showed, kept for a table of the documentation.

A test that has the marker ``case(NAME, least=(4, 0), below=(5, 0), holds="refused by name", steps=7)`` is a row;
``holds`` is what its cell says, unless the test itself says more with :func:`note`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

HOLDS = pytest.StashKey[str]()
Release = tuple[int, int]


def note(request: pytest.FixtureRequest, text: str) -> None:
    """What the cell of this test is to say, instead of ``yes``."""
    request.node.stash[HOLDS] = text


class VersionResults:
    """The results of one table.

    :param variable: the environment variable that names the file in which they are kept, each in the place of an
        earlier one of the same case and environment; without it nothing is kept.
    :param least: the oldest release of the table, and ``below`` the first one that is too new.
    """

    def __init__(self, variable: str, least: Release, below: Release) -> None:
        self._variable = variable
        self._least, self._below = least, below
        self._found: list[dict[str, Any]] = []

    def releases_of(self, case: pytest.Mark | None) -> tuple[Release, Release]:
        """The least release that a case is about, and the first one above it."""
        given = {} if case is None else case.kwargs
        return given.get("least", self._least), given.get("below", self._below)

    def note(self, item: pytest.Item, report: pytest.TestReport, environment: str) -> None:
        """Keep the outcome of a test that has the marker ``case``."""
        case = item.get_closest_marker("case")
        if case is None or (report.when != "call" and report.outcome == "passed"):
            return
        least, below = self.releases_of(case)
        result: dict[str, Any] = {"case": case.args[0], "environment": environment, "outcome": report.outcome}
        result |= {"least": least, "below": below, "steps": case.kwargs.get("steps", 1)}
        holds = item.stash.get(HOLDS, case.kwargs.get("holds", "yes"))
        self._found.append(result | {"seconds": round(report.duration, 1), "holds": holds})
        if self._variable in os.environ:
            self._keep(Path(os.environ[self._variable]))

    def _keep(self, file: Path) -> None:
        kept = json.loads(file.read_text()) if file.exists() else []
        again = {(result["case"], result["environment"]) for result in self._found}
        others = [result for result in kept if (result["case"], result["environment"]) not in again]
        file.write_text(json.dumps([*others, *self._found], indent=1) + "\n")


__all__ = ["Release", "VersionResults", "note"]
