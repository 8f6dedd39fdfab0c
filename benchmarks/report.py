"""The table and the JSON of a run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

Results = Mapping[str, Mapping[str, list[float]]]
"""Figures of each round, by server and by name of the figure."""


def medians(results: Results) -> dict[str, dict[str, float]]:
    return {server: {name: median(found) for name, found in figures.items()} for server, figures in results.items()}


def show(results: Results, console: Console) -> None:
    """One row a figure, one column a server; medians."""
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
    """Medians and every round, with what is needed to judge them."""
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
