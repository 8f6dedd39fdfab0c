"""Other projects' own tests: fetched once, and what became of them. Called by the suites that run them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

CACHE = Path(__file__).parents[3] / ".cache" / "interop"


def checkout(repository: str, release: str, folder: Path) -> Path:
    """A release of a repository, fetched by git into this folder unless it is there."""
    source = folder / release
    if not source.exists():
        source.parent.mkdir(parents=True, exist_ok=True)
        unfinished = source.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        command = ["git", "clone", "--quiet", "--depth", "1", "--branch", release, repository, str(unfinished)]
        subprocess.run(command, check=True)
        unfinished.rename(source)
    return source


def judge(report: Path, expected: set[str], *, complete: bool) -> int:
    """Print what pytest's report says, and return the exit status: 1 if another test failed than those expected to, or
    one of these passed.

    :param complete: all tests were to run, so that those expected to fail were among them.
    """
    cases = [case for case in ElementTree.parse(report).getroot().iter("testcase") if case.find("skipped") is None]
    failed = {
        case.get("name", "") for case in cases if case.find("failure") is not None or case.find("error") is not None
    }
    print(f"{len(cases) - len(failed)} of {len(cases)} passed")
    print(f"failed without being listed: {sorted(failed - expected) or 'none'}")
    passed = expected - failed if complete else set()
    if passed:
        print(f"listed, and passed: {sorted(passed)}")
    return 1 if failed - expected or passed or not cases else 0
