"""The table and the JSON of a run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from xml.sax.saxutils import escape

from rich.console import Console
from rich.table import Table

Results = Mapping[str, Mapping[str, list[float]]]
"""Lists of one figure per round, by server and by name of the figure."""


def medians(results: Results) -> dict[str, dict[str, float]]:
    return {server: {name: median(found) for name, found in figures.items()} for server, figures in results.items()}


def show(results: Results, console: Console) -> None:
    """A table of medians: one row per figure, one column per server."""
    table = Table(title="Medians of interleaved rounds", title_justify="left")
    table.add_column("figure")
    found = medians(results)
    for server in found:
        table.add_column(server, justify="right")
    for name in dict.fromkeys(name for figures in found.values() for name in figures):
        table.add_row(name, *(_text(figures.get(name)) for figures in found.values()))
    console.print(table)


def _text(value: float | None) -> str:
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def write_json(results: Results, path: Path) -> None:
    """Write medians and all rounds as JSON, with the machine and its load, which are needed to judge them."""
    path.write_text(
        json.dumps(
            {
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": {"cores": os.cpu_count(), "system": platform.platform(), "load": os.getloadavg()[0]},
                "medians": medians(results),
                "rounds": results,
            },
            indent=1,
        )
        + "\n"
    )


def write_cells(results: Results, path: Path) -> None:
    """Write the results of raw requests as a Markdown table: requests a second, the broker's CPU, three percentiles."""
    found = medians(results)
    names = [name for figures in found.values() for name in figures if name.endswith(": requests_per_s")]
    lines = [f"| batch, connections x in flight | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|"]
    for cell in dict.fromkeys(name.removesuffix(": requests_per_s") for name in names):
        lines.append(f"| {cell} | {' | '.join(_cell(figures, cell) for figures in found.values())} |")
    path.write_text("\n".join(lines) + "\n")


def _cell(figures: Mapping[str, float], cell: str) -> str:
    rate = figures.get(f"{cell}: requests_per_s")
    if rate is None:
        return "does not serve it"
    cpu_us = figures[f"{cell}: broker CPU us"]
    tails = (figures[f"{cell}: {part} us"] / 1000 for part in ("p50", "p99", "p99.9"))
    return f"{rate:,.0f} ({_rounded(cpu_us)} us; {' / '.join(map(_rounded, tails))})"


def _rounded(value: float) -> str:
    """The value with three digits, or with two if it is below 1, as text."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


COLOURS = ("#1f6f5c", "#b5533c", "#5b6abf", "#8a8a8a")
BAR_PX, GAP_PX, LABEL_PX, WIDTH_PX = 14, 10, 330, 900


def write_chart(results: Results, path: Path) -> None:
    """Bars for all figures that are rates or CPU, each in relation to the largest of its row."""
    found = medians(results)
    names = [
        name
        for name in dict.fromkeys(name for figures in found.values() for name in figures)
        if name.endswith("_per_s") or "CPU" in name
    ]
    row_px = BAR_PX * len(found) + GAP_PX
    height = row_px * len(names) + 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PX}" height="{height}" font-family="sans-serif" '
        f'font-size="11"><rect width="100%" height="100%" fill="white"/>'
    ]
    for number, server in enumerate(found):
        out.append(f'<rect x="{20 + 200 * number}" y="10" width="11" height="11" fill="{COLOURS[number % 4]}"/>')
        out.append(f'<text x="{36 + 200 * number}" y="20">{escape(server)}</text>')
    for row, name in enumerate(names):
        top = 34 + row * row_px
        largest = max(figures.get(name, 0.0) for figures in found.values()) or 1.0
        label = name.replace("_per_s", "/s").replace("requests/s", "requests a second")
        out.append(f'<text x="{LABEL_PX - 8}" y="{top + row_px // 2}" text-anchor="end">{escape(label)}</text>')
        for number, figures in enumerate(found.values()):
            value = figures.get(name)
            if value is not None:
                y, width = top + number * BAR_PX, value / largest * (WIDTH_PX - LABEL_PX - 80)
                out.append(
                    f'<rect x="{LABEL_PX}" y="{y}" width="{width:.1f}" height="{BAR_PX - 2}" '
                    f'fill="{COLOURS[number % 4]}"/>'
                    f'<text x="{LABEL_PX + width + 4:.1f}" y="{y + 10}">{_text(value)}</text>'
                )
    path.write_text("\n".join([*out, "</svg>"]) + "\n")
