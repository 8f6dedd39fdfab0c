"""``make coverage`` adds up packages and fails below a floor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.coverage_floors import COUNTS, FLOORS, main

ROOT = Path(__file__).parents[2]


ALL = dict.fromkeys(FLOORS, 1000)


def report(tmp_path: Path, lines: dict[str, int], branches: int = 50) -> str:
    """Two files of each package: the first has all of its 1,000 lines and ``branches`` of 50 branches covered, the
    second ``lines`` of 1,000 lines, and has no branches.
    """
    files = {
        f"src/oncelog/{package}/{name}.py": {"summary": dict(zip(COUNTS, counts, strict=True))}
        for package, covered in lines.items()
        for name, counts in {"a": (1000, 1000, branches, 50), "b/c": (covered, 1000, 0, 0)}.items()
    }
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps({"files": files}))
    return str(file)


def test_full_coverage_passes_every_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([report(tmp_path, ALL)]) == 0
    assert capsys.readouterr().out.count("100.0%") == 3 * len(FLOORS)


@pytest.mark.parametrize("package", FLOORS)
def test_the_error_names_a_package_below_its_coverage_floor(
    package: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([report(tmp_path, {**ALL, package: 0})]) == 1
    assert f"{package}: 51.2 % of lines and branches" in capsys.readouterr().err


def test_branch_coverage_has_its_own_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([report(tmp_path, ALL, 35)]) == 1
    refused = [
        f"{package}: 70.0 % of branches are covered, at least {floor.branches} % are required"
        for package, floor in FLOORS.items()
    ]
    assert capsys.readouterr().err.splitlines() == refused


def test_a_package_whose_coverage_was_not_measured_fails(tmp_path: Path) -> None:
    assert main([report(tmp_path, dict.fromkeys(list(FLOORS)[1:], 1000))]) == 1


def test_every_floor_names_an_existing_package() -> None:
    assert [name for name in FLOORS if not (ROOT / "src" / "oncelog" / name / "__init__.py").is_file()] == []
