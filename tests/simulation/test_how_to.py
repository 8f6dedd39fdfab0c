"""The how-to page on simulation is right: the relay's bug is found, shrunk and explained, and its fix holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from oncelog.testing.simulation import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "simulation.md"
BROKEN, TEST, CURED = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def _pytest(folder: Path, relay: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "outbox_relay.py").write_text(relay)
    (folder / "test_relay.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_relay.py", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_bug_of_the_documented_relay_is_found_and_reproduced_by_its_seed(tmp_path: Path) -> None:
    ended = _pytest(tmp_path, BROKEN)
    assert ended.returncode == 1, ended.stdout
    reported = re.search(r"seed (\d+) fails with AssertionError", ended.stdout)
    assert reported is not None, ended.stdout
    faults = re.findall(r"s  (\w+) for [\d.]+ s \(number", ended.stdout)
    assert set(faults) <= {"kill_program", "kill_broker", "cut_connection"} and len(faults) <= 2
    assert f"--oncelog-seed {reported[1]}" in ended.stdout
    again = _pytest(tmp_path, BROKEN, "--oncelog-seed", reported[1])
    assert again.returncode == 1 and f"seed {reported[1]} fails with AssertionError" in again.stdout


def test_the_corrected_relay_passes(tmp_path: Path) -> None:
    ended = _pytest(tmp_path, CURED, "--oncelog-seeds", "20")
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_is_on_the_page(kind: str) -> None:
    assert f"`{kind}`" in PAGE.read_text(encoding="utf-8")
