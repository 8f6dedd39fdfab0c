"""Print the coverage by unit and property tests, one package per line; fail if a package is below its floor. ``make
coverage`` runs it.

python -m tools.coverage_floors FILE    FILE is what ``coverage json`` writes
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple


class Floor(NamedTuple):
    """The minimum percentages that the tests of a package must cover; floors are only raised."""

    both: float
    """The percentage of lines and branches, counted together."""
    branches: float


FLOORS: Final = {
    "broker/core": Floor(97.0, 95.0),
    "broker/coordinator": Floor(98.0, 95.0),
    "broker/log": Floor(98.0, 95.0),
    "records": Floor(96.5, 94.5),
    "protocol": Floor(97.0, 95.0),
    "client/core": Floor(85.5, 78.0),
    "spark/sink": Floor(84.0, 74.5),
    "schemas": Floor(80.5, 75.0),
}
"""The floors by the package's folder in ``src/oncelog``."""
COUNTS: Final = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def totals(files: Mapping[str, Any]) -> dict[str, Counter[str]]:
    """The numbers of covered and of all lines and branches of each package."""
    found: dict[str, Counter[str]] = {package: Counter() for package in FLOORS}
    for name, file in files.items():
        path = name.partition("oncelog/")[2]
        for package in found:
            if path.startswith(f"{package}/"):
                found[package].update({count: file["summary"][count] for count in COUNTS})
    return found


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write(__doc__)
        return 2
    below = []
    print(f"{'package':<20} {'lines':>7} {'branches':>9} {'both':>7} {'floor':>7}")
    for package, sums in totals(json.loads(Path(arguments[0]).read_text())["files"]).items():
        lines = percent(sums["covered_lines"], sums["num_statements"])
        branches = percent(sums["covered_branches"], sums["num_branches"])
        both = percent(sums["covered_lines"] + sums["covered_branches"], sums["num_statements"] + sums["num_branches"])
        floor = FLOORS[package]
        print(f"{package:<20} {lines:>6.1f}% {branches:>8.1f}% {both:>6.1f}% {floor.both:>6.1f}%")
        if both < floor.both:
            below.append(
                f"{package}: {both:.1f} % of lines and branches are covered, at least {floor.both} % are required"
            )
        if branches < floor.branches:
            below.append(
                f"{package}: {branches:.1f} % of branches are covered, at least {floor.branches} % are required"
            )
    sys.stderr.write("".join(f"{line}\n" for line in below))
    return bool(below)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
