"""The walks of ``docs/contributing/adding.md``: their changes, which apply to a tree, and their commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "contributing" / "adding.md"
STEP = re.compile(r"^```diff\n(?P<change>.*?)^```$|^(?P<commands>(?:    \S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


class Walk(NamedTuple):
    """A section of the page: changes and commands, in their order."""

    title: str
    steps: list[tuple[str, str]]


def _walks() -> Iterator[Walk]:
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        yield Walk(title, [(str(step.lastgroup), step[str(step.lastgroup)]) for step in STEP.finditer(text)])


WALKS = list(_walks())


class DoesNotFit(Exception):
    """The place that a change shows is not there, or is there more than once."""


def change(tree: Path, text: str) -> None:
    """Apply one change: a new file (``+++ path``), or one place of a file (``--- path``)."""
    head, *lines = text.splitlines()
    kind, path = head.split()
    file = tree / path
    after = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("+", " "))
    if kind == "+++":
        if file.exists():
            raise DoesNotFit(f"{path} is there already")
        file.write_text(after, encoding="utf-8")
        return
    before = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("-", " "))
    found = file.read_text(encoding="utf-8")
    if found.count(before) != 1:
        raise DoesNotFit(f"{path} has {found.count(before)} such places:\n{before}")
    file.write_text(found.replace(before, after), encoding="utf-8")
