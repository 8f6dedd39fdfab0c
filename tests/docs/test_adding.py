"""Each walk of ``docs/contributing/adding.md``, taken on a copy of the tree: its changes apply, and its checks pass."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGE = ROOT / "docs" / "contributing" / "adding.md"
TASKS = {
    "make docs": [[sys.executable, "tools/generate.py"], [sys.executable, "tools/generate.py", "--check"]],
    "make site": [[str(BIN / "mkdocs"), "build", "--strict"]],
}
"""What the Makefile runs; the copy has no environment of its own."""
STEP = re.compile(r"^```diff\n(?P<change>.*?)^```$|^(?P<commands>(?:    \S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


class Walk(NamedTuple):
    """A section of the page: changes and commands, in their order."""

    title: str
    steps: list[tuple[str, str]]


def walks() -> Iterator[Walk]:
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        yield Walk(title, [(str(step.lastgroup), step[str(step.lastgroup)]) for step in STEP.finditer(text)])


WALKS = list(walks())


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


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files that git knows, and the compiled module."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    compiled = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.so")]
    for name in [*names, *compiled]:
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / name)
    return tmp_path


def run(tree: Path, command: str) -> None:
    words = shlex.split(command)
    plain = ["-p", "no:cacheprovider", "-q"] if "pytest" in words else []
    programs = TASKS.get(command) or [[sys.executable, *words[1:], *plain]]
    assert command in TASKS or words[0] == "python", command
    for program in programs:
        environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
        ended = subprocess.run(program, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, f"{command}:\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"


SHORT = ("An API", "A command")
"""Run by ``make test``; the others generate reference pages and run whole suites, for ten seconds each."""


@pytest.mark.parametrize(
    "walk", [pytest.param(w, id=w.title, marks=() if w.title in SHORT else pytest.mark.soak) for w in WALKS]
)
def test_the_links_of_a_walk_lead_to_their_pages(walk: Walk, tree: Path) -> None:
    assert {kind for kind, _ in walk.steps} == {"change", "commands"}
    for kind, text in walk.steps:
        if kind == "change":
            change(tree, text)
        else:
            for command in text.splitlines():
                run(tree, command.strip())


def test_each_thing_that_people_add_has_a_walk() -> None:
    assert {walk.title.split(maxsplit=1)[1] for walk in WALKS} == {
        "API", "setting", "command", "metric", "fault", "page", "planted bug", "conformance check",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["--- file\n gone\n+new\n", "--- file\n twice\n+new\n", "+++ file\n+new\n"], ids=["gone", "twice", "there"]
)
def test_a_change_without_its_place_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text("once\ntwice\ntwice\n")
    with pytest.raises(DoesNotFit):
        change(tmp_path, text)


def test_a_change_replaces_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a\nb\nc\n")
    change(tmp_path, "--- file\n a\n-b\n+B\n")
    assert (tmp_path / "file").read_text() == "a\nB\nc\n"
