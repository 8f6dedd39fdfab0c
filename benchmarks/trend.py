"""Keeps the figures of each weekly run, and draws them over time.

    python -m benchmarks.trend keep FIGURES.json RUNS.jsonl --commit COMMIT    append the medians of a run as one line
    python -m benchmarks.trend draw RUNS.jsonl PAGE.md                         write the page with the kept runs

Each run is on another machine with another speed, so the page draws what is comparable: the ratio of our figure to
Apache Kafka's in the same run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

OURS: Final = "oncelog (interval)"
"""The name of oncelog's broker with its default flush policy in a run's figures."""
THEIRS: Final = "Apache Kafka "
INTRODUCTION: Final = """\
# Benchmarks over time

The weekly run keeps its medians as one line of JSON, on the branch `benchmark-runs`, and the published site draws them
here. A run has a machine of its own, so each point is our figure divided by Apache Kafka's of the same run: a rate
should be high, a time or a CPU time low. [Benchmarks](benchmarks.md) explains the figures.

"""
EMPTY: Final = "No runs are kept in this copy of the page.\n"
WIDTH, HEIGHT, MARGIN = 360, 48, 4


class Run(NamedTuple):
    """The figures that are kept of a run."""

    at: str
    commit: str
    medians: dict[str, dict[str, float]]

    @property
    def ratios(self) -> dict[str, float]:
        """oncelog's figure divided by Apache Kafka's, by name; only figures that both have."""
        ours = self.medians.get(OURS, {})
        theirs = next((found for server, found in self.medians.items() if server.startswith(THEIRS)), {})
        return {name: value / theirs[name] for name, value in ours.items() if theirs.get(name)}


def kept(figures: dict[str, Any], commit: str) -> str:
    """The line of a run, from the JSON that ``python -m benchmarks --json`` writes."""
    return json.dumps({"at": figures["at"], "commit": commit, "medians": figures["medians"]}) + "\n"


def runs(lines: Iterable[str]) -> list[Run]:
    """The kept runs, the oldest first."""
    found = [json.loads(line) for line in lines if line.strip()]
    return sorted(Run(run["at"], run["commit"], run["medians"]) for run in found)


def page(found: Sequence[Run]) -> str:
    """The page in Markdown: a row for each figure, with its line over all runs."""
    names = dict.fromkeys(name for run in found for name in run.ratios)
    if not names:
        return INTRODUCTION + EMPTY
    first, last = found[0], found[-1]
    lines = [
        f"{len(found)} runs, from {first.at[:10]} (`{first.commit[:8]}`) to {last.at[:10]} (`{last.commit[:8]}`).\n",
        "| figure, ours in relation to Apache Kafka's | first | last | over time |",
        "|---|---:|---:|---|",
    ]
    for name in names:
        values = [run.ratios[name] for run in found if name in run.ratios]
        lines.append(f"| {name} | {values[0]:.2f} | {values[-1]:.2f} | {line(values)} |")
    return INTRODUCTION + "\n".join(lines) + "\n"


def line(values: Sequence[float]) -> str:
    """An SVG of the values from 0 to the largest, with a dashed line at 1, where both are equal."""
    largest = max(*values, 1.0)

    def y(value: float) -> float:
        return round(HEIGHT - MARGIN - value / largest * (HEIGHT - 2 * MARGIN), 1)

    step = (WIDTH - 2 * MARGIN) / max(1, len(values) - 1)
    points = " ".join(f"{MARGIN + number * step:.1f},{y(value)}" for number, value in enumerate(values))
    equal = y(1.0)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{len(values)} runs">'
        f'<line x1="0" x2="{WIDTH}" y1="{equal}" y2="{equal}" stroke="gray" stroke-dasharray="3"/>'
        f'<polyline points="{points}" fill="none" stroke="#1f6f5c" stroke-width="2"/></svg>'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    keep = commands.add_parser("keep")
    keep.add_argument("figures", type=Path)
    keep.add_argument("runs", type=Path)
    keep.add_argument("--commit", required=True)
    draw = commands.add_parser("draw")
    draw.add_argument("runs", type=Path)
    draw.add_argument("page", type=Path)
    options = parser.parse_args()
    if options.command == "keep":
        with options.runs.open("a", encoding="utf-8") as file:
            file.write(kept(json.loads(options.figures.read_text(encoding="utf-8")), options.commit))
    else:
        options.page.write_text(page(runs(options.runs.read_text(encoding="utf-8").splitlines())), encoding="utf-8")


if __name__ == "__main__":
    main()
