"""Each walk of ``docs/contributing/adding.md``, taken on a copy of the tree: its changes apply, and its checks pass."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.walks import ROOT, WALKS, Walk, change

BIN = Path(sys.executable).parent
TASKS = {
    "make docs": [[sys.executable, "tools/generate.py"], [sys.executable, "tools/generate.py", "--check"]],
    "make site": [[str(BIN / "mkdocs"), "build", "--strict"]],
}
"""What the Makefile runs; the copy has no environment of its own."""


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


SHORT = ("An API",)
"""Run by ``make test-all``; the others generate reference pages and run whole suites, for ten seconds each.
``tests/unit/test_walks.py`` checks of all that they fit the code."""


@pytest.mark.parametrize(
    "walk", [pytest.param(w, id=w.title, marks=() if w.title in SHORT else pytest.mark.soak) for w in WALKS]
)
def test_a_documented_walk_through_works_as_written(walk: Walk, tree: Path) -> None:
    for kind, text in walk.steps:
        if kind == "change":
            change(tree, text)
        else:
            for command in text.splitlines():
                run(tree, command.strip())
