"""``make coverage`` adds up packages and fails below a floor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.coverage_floors import COUNTS, FLOORS, main

ROOT = Path(__file__).parents[2]


def report(tmp_path: Path, branches: int = 50, **lines: int) -> str:
    """Of each package two files: one with all lines and so many of its 50 branches, one with so many of its 100 lines,
    and without branches."""
    files = {
        f"src/oncelog/broker/{package}/{name}.py": {"summary": dict(zip(COUNTS, counts, strict=True))}
        for package, covered in lines.items()
        for name, counts in {"a": (1000, 1000, branches, 50), "b/c": (covered, 100, 0, 0)}.items()
    }
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps({"files": files}))
    return str(file)


def test_all_covered_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([report(tmp_path, **dict.fromkeys(FLOORS, 100))]) == 0
    assert capsys.readouterr().out.count("100.0%") == 3 * len(FLOORS)


@pytest.mark.parametrize("package", FLOORS)
def test_a_package_below_its_floor_is_named(package: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([report(tmp_path, **{**dict.fromkeys(FLOORS, 100), package: 50})]) == 1
    assert capsys.readouterr().err.startswith(f"{package}: 95.7 % of lines and branches")


def test_branches_have_a_floor_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([report(tmp_path, 47, **dict.fromkeys(FLOORS, 100))]) == 1
    refused = [f"{package}: 94.0 % of branches are covered, at least 95.0 % are required" for package in FLOORS]
    assert capsys.readouterr().err.splitlines() == refused


def test_a_package_that_was_not_measured_fails(tmp_path: Path) -> None:
    assert main([report(tmp_path, **dict.fromkeys(list(FLOORS)[1:], 100))]) == 1


def test_floors_are_of_packages_that_exist() -> None:
    assert [name for name in FLOORS if not (ROOT / "src" / "oncelog" / "broker" / name / "__init__.py").is_file()] == []
