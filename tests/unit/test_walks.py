"""Each walk of ``docs/contributing/adding.md`` fits the code: ``tests/docs/test_adding.py`` takes them."""

from __future__ import annotations

import ast
import importlib.util
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.walks import ROOT, WALKS, DoesNotFit, Walk, change


def test_each_kind_of_addition_has_a_walk_through() -> None:
    assert {walk.title.split(maxsplit=1)[1] for walk in WALKS} == {
        "API", "setting", "command", "metric", "fault", "page", "planted bug", "conformance check",
    }  # fmt: skip


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.title)
def test_a_walk_through_fits_the_code_and_names_existing_files(walk: Walk, tmp_path: Path) -> None:
    assert {kind for kind, _ in walk.steps} == {"change", "commands"}
    made = set()
    for kind, text in walk.steps:
        if kind == "change":
            path = text.split(maxsplit=2)[1]
            made.add(path)
            fits(tmp_path, path, text)
    for command in (line for kind, text in walk.steps if kind == "commands" for line in text.splitlines()):
        paths = [word for word in shlex.split(command) if word.startswith("tests/")]
        assert [path for path in paths if path not in made and not (ROOT / path).exists()] == [], command


def fits(tree: Path, path: str, text: str) -> None:
    """Apply the change to a copy of its file, whose Python is then parsed and whose imports are looked up."""
    copied = tree / path
    copied.parent.mkdir(parents=True, exist_ok=True)
    assert (ROOT / path).parent.is_dir(), path
    if (ROOT / path).exists() and not copied.exists():
        shutil.copy(ROOT / path, copied)
    change(tree, text)
    if copied.suffix != ".py":
        return
    for node in ast.walk(ast.parse(copied.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("oncelog", "tests")):
            exists(str(node.module), [alias.name for alias in node.names])


def exists(module: str, names: list[str]) -> None:
    """A module, or one that a walk has generated, has these names."""
    if ".generated." in module:
        return
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None, module
    defined = Path(found.origin).read_text(encoding="utf-8")
    for name in names:
        assert name in defined or importlib.util.find_spec(f"{module}.{name}") is not None, f"{module}.{name}"


@pytest.mark.parametrize(
    "text", ["--- file\n gone\n+new\n", "--- file\n twice\n+new\n", "+++ file\n+new\n"], ids=["gone", "twice", "there"]
)
def test_a_documented_change_without_a_unique_place_in_the_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text("once\ntwice\ntwice\n")
    with pytest.raises(DoesNotFit):
        change(tmp_path, text)


def test_a_documented_change_replaces_the_code_that_it_shows(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a\nb\nc\n")
    change(tmp_path, "--- file\n a\n-b\n+B\n")
    assert (tmp_path / "file").read_text() == "a\nB\nc\n"
