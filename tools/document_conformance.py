"""Write ``docs/reference/conformance.md`` from what ``oncelog conformance --json`` said of several brokers.

Run by hand, with a name and a file, or several, for each:
``python -m tools.document_conformance "Apache Kafka 4.3.1=kafka.json" "Tansu 0.6.0=tansu.json"``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "conformance.md"
OUTCOMES = ("passed", "failed", "not offered")
LONGEST_TEXT = 110

Report = Mapping[str, Any]


def page(reports: Mapping[str, Report]) -> str:
    """The page."""
    lines = [
        "# What brokers pass",
        "",
        "Written by `tools/document_conformance.py` from runs of `oncelog conformance --json` "
        "([how to run it](../how-to/conformance.md)). A check has one case or several, such as each version of a "
        "request; a cell counts cases: passed / failed / not offered.",
        "",
    ]
    areas = list(dict.fromkeys(result["area"] for report in reports.values() for result in report["results"]))
    lines += ["| area | " + " | ".join(reports) + " |", "|---|" + "---|" * len(reports)]
    for area in [*areas, None]:
        cells = [_cell(report, area) for report in reports.values()]
        lines.append(f"| {area or '**all**'} | " + " | ".join(cells) + " |")
    for name, report in reports.items():
        lines += ["", *_section(name, report)]
    return "\n".join(lines) + "\n"


def _cell(report: Report, area: str | None) -> str:
    chosen = [result["outcome"] for result in report["results"] if area in (None, result["area"])]
    return " / ".join(str(chosen.count(outcome)) for outcome in OUTCOMES)


def _section(name: str, report: Report) -> Sequence[str]:
    failed: dict[tuple[str, str, str], list[str]] = {}
    for result in report["results"]:
        if result["outcome"] == "failed":
            failed.setdefault((result["area"], result["check"], result["kip"]), []).append(result["text"])
    if not failed:
        return [f"## {name}", "", "Every case that it offers passes."]
    lines = [f"## {name}", "", f"{len(failed)} checks with a failed case; the text is that of the first one.", ""]
    lines += ["| area | check | KIP | cases | found |", "|---|---|---|---|---|"]
    for (area, check, kip), texts in failed.items():
        lines.append(f"| {area} | {check.replace('_', ' ')} | {kip} | {len(texts)} | {_text(texts[0])} |")
    return lines


def _text(text: str) -> str:
    short = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."
    return "`" + short.replace("|", "\\|").replace("`", "'").replace("\n", " ") + "`"


def main() -> None:
    reports: dict[str, Report] = {}
    for argument in sys.argv[1:]:
        name, _, files = argument.partition("=")
        parts = [json.loads(Path(file).read_text(encoding="utf-8")) for file in files.split(",")]
        reports[name] = {"results": [result for part in parts for result in part["results"]]}
    PAGE.write_text(page(reports), encoding="utf-8")


if __name__ == "__main__":
    main()
