"""Write ``docs/reference/verify.md`` from the table of findings; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from oncelog.apps.verify.kinds import KINDS, Kind, Verdict

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "verify.md"

INTRODUCTION = """\
# Findings of oncelog verify

Made by `python tools/document_verify.py` from the table of findings; do not edit. How to use them:
[Prove exactly-once on your cluster](../how-to/verify.md).

A name never changes its meaning. With `--json` each finding has the fields `finding` (the name), `verdict`, `topic`,
`partition`, `first_offset`, `last_offset`, `producer_id`, `producer_epoch`, `transactional_id`, `detail` and `todo`.
Ten of a kind are listed for each partition; `counts` has the number of all.
"""

SECTIONS = {
    Verdict.FOUND: ("Found", "Exit status 1: these contradict exactly-once."),
    Verdict.UNKNOWN: ("Could not be told", "Exit status 2, unless something was found."),
    Verdict.ALLOWED: (
        "Allowed",
        "Unusual, but Kafka allows it. `--all` lists these, and with `--strict` they count.",
    ),
}


def _page() -> Iterator[str]:
    yield INTRODUCTION
    for verdict, (title, text) in SECTIONS.items():
        yield f"## {title}\n\n{text}\n"
        yield from _tables([kind for kind in KINDS.values() if kind.verdict is verdict])


def _tables(kinds: list[Kind]) -> Iterator[str]:
    """A table for each advice that several findings share, and one table for all other findings."""
    shared = [todo for todo, count in Counter(kind.todo for kind in kinds).items() if count > 1]
    for todo in shared:
        yield f"**{todo[0].upper()}{todo[1:]}:**\n"
        yield "| name | meaning |"
        yield "|---|---|"
        yield from (f"| `{kind.name}` | {kind.means} |" for kind in kinds if kind.todo == todo)
        yield ""
    yield "| name | meaning | what to do |"
    yield "|---|---|---|"
    yield from (f"| `{kind.name}` | {kind.means} | {kind.todo} |" for kind in kinds if kind.todo not in shared)
    yield ""


def main() -> int:
    page = "\n".join(_page()).rstrip() + "\n"
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python -m tools.document_verify\n")
        return 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
