"""The workflows of GitHub follow its schema and zizmor's rules, and run what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTIONS = sorted(GITHUB.glob("actions/*/action.yml"))


def _check(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def _steps() -> list[dict[str, Any]]:
    jobs = [job for path in WORKFLOWS for job in yaml.safe_load(path.read_text())["jobs"].values()]
    return [
        *(step for job in jobs for step in job["steps"]),
        *(step for path in ACTIONS for step in yaml.safe_load(path.read_text())["runs"]["steps"]),
    ]


@pytest.mark.parametrize(
    ("schema", "files"), [("vendor.github-workflows", WORKFLOWS), ("vendor.github-actions", ACTIONS)]
)
def test_workflow_files_follow_githubs_schema(schema: str, files: list[Path]) -> None:
    assert files
    ended = _check(BIN / "check-jsonschema", "--builtin-schema", schema, *files)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.skipif(not (BIN / "zizmor").exists(), reason="zizmor has no wheel for this system")
def test_zizmor_finds_no_fault_in_the_workflows() -> None:
    ended = _check(BIN / "zizmor", "--offline", "--no-progress", GITHUB)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.skipif(not (BIN / "zizmor").exists(), reason="zizmor has no wheel for this system")
def test_zizmor_finds_an_injected_title_and_a_persisted_token(tmp_path: Path) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = (GITHUB / "workflows" / "ci.yml").read_text()
    text = text.replace("        with:\n          persist-credentials: false\n", "")
    text = text.replace("run: .ci/run", "run: echo ${{ github.event.pull_request.title }}")
    (folder / "ci.yml").write_text(text)
    (tmp_path / ".github" / "zizmor.yml").write_text((GITHUB / "zizmor.yml").read_text())
    found = _check(BIN / "zizmor", "--offline", "--no-progress", tmp_path / ".github").stdout
    assert "template-injection" in found and "artipacked" in found


def test_workflow_steps_run_commands_that_exist() -> None:
    """Every path of the project and every task of the Makefile that a step names exists."""
    commands = [step["run"] for step in _steps() if "run" in step]
    named = [word for text in commands for word in text.split() if word.startswith(("tests/", "tools/", ".ci/"))]
    assert len(named) >= 5
    assert [word for word in named if not (ROOT / word).exists()] == []
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    run = {task for text in commands for task in re.findall(r"\bmake ([a-z-]+)", text)}
    assert {"site", "soak", "fuzz", "bench"} <= run <= tasks


def test_each_long_test_is_run_by_a_weekly_job() -> None:
    weekly = yaml.safe_load((GITHUB / "workflows" / "weekly.yml").read_text())
    parts = [
        ROOT / path
        for part in weekly["jobs"]["soak"]["strategy"]["matrix"]["include"]
        for path in part["tests"].split()
    ]
    assert [path for path in parts if not path.is_dir()] == []
    files = (path for name in ("test_*.py", "conftest.py") for path in (ROOT / "tests").rglob(name))
    tests = set(files) - {Path(__file__)}
    long = [path for path in tests if re.search("mark.soak|IN_SOAK", path.read_text())]
    assert [path for path in sorted(long) if not any(path.is_relative_to(part) for part in parts)] == []


def test_every_job_has_a_timeout() -> None:
    jobs = {
        f"{path.stem}/{name}": job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    }
    assert [name for name, job in jobs.items() if "timeout-minutes" not in job] == []


def test_only_a_tag_publishes_and_never_a_dry_run() -> None:
    jobs = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text())["jobs"]
    uploads = {name for name, job in jobs.items() if job.get("permissions")}
    assert uploads == {"publish", "announce"}
    assert "refs/tags/v" in jobs["publish"]["if"] and "!inputs.dry-run" in jobs["publish"]["if"]
    assert jobs["announce"]["needs"] == "publish"
