"""Tables of supported cases by version, from the results that :mod:`tests.support.version_results` stores."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.version_results import Release

Results = list[dict[str, Any]]


def table(results: Results, columns: Mapping[str, Release]) -> str:
    """A Markdown table with a row for each case and a column for each environment, whose release decides whether a case
    is expected to run."""
    found: dict[tuple[str, str], Results] = defaultdict(list)
    cases: dict[str, None] = {}
    for result in results:
        cases[result["case"]] = None
        found[result["case"], result["environment"]].append(result)
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for case in cases:
        ranges = [(result["least"], result["below"]) for result in results if result["case"] == case]
        cells = [
            _cell(found.get((case, name), []), not any(least <= list(release) < below for least, below in ranges))
            for name, release in columns.items()
        ]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(results: Results, is_outside: bool) -> str:
    if not results:
        return "-" if is_outside else "not run"
    if any(result["outcome"] != "passed" for result in results):
        return "**no**"
    holds = str(results[0]["holds"])
    steps = results[0].get("steps", 1)
    if len(results) < steps:
        return f"{len(results)}/{steps}"
    return holds.removeprefix("yes, ").replace(" of ", "/")


def write(results: Path, page: Path, columns: Mapping[str, Release], text: Callable[[Results], str]) -> int:
    """Write the page; with ``--check`` report whether it is current, with ``--print`` print its table too."""
    found = json.loads(results.read_text())
    if "--print" in sys.argv[1:]:
        print(table(found, columns))
    if "--check" not in sys.argv[1:]:
        page.write_text(text(found))
        return 0
    if not page.exists() or page.read_text() != text(found):
        sys.stderr.write(f"{page} is not what the results say\n")
        return 1
    return 0
