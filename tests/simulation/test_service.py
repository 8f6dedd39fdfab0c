"""The example of a service keeps its promise, and the page that leads from a failed seed to its cause is right."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVICE = ROOT / "examples" / "billing"
PAGE = (ROOT / "docs" / "how-to" / "failed-seed.md").read_text(encoding="utf-8")
BUG, NARROWED = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def _pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return _run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_billing.py", *options)


def _broken(service: str) -> str:
    """The service with the page's bug."""
    begins, ends = service.index("                async with inbox.transaction()"), service.index("    finally:\n")
    started = "            producer = Producer(bootstrap_servers=servers)\n            await producer.start()\n"
    before = service[:begins].replace("            while True:\n", started + "            while True:\n", 1)
    return f"{before}{textwrap.indent(BUG, 16 * ' ')}{service[ends:]}"


def test_the_documented_command_finds_that_the_service_bills_each_order_once() -> None:
    """In the checkout, whose own settings of pytest do not put the service's folder in the path."""
    assert "    cd examples/billing\n    pytest test_billing.py\n" in PAGE
    command = [str(Path(sys.executable).with_name("pytest")), "test_billing.py"]
    options = ["-q", "-p", "no:cacheprovider", "--oncelog-seeds", "20"]
    ended = subprocess.run([*command, *options], cwd=SERVICE, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_the_bug_of_the_documented_service_is_found_and_its_moment_shown(tmp_path: Path) -> None:
    """By whichever seed: any change of client or broker gives seeds another course."""
    shutil.copytree(SERVICE, tmp_path, dirs_exist_ok=True)
    service = tmp_path / "billing.py"
    service.write_text(_broken(service.read_text(encoding="utf-8")), encoding="utf-8")
    ended = _pytest(tmp_path)
    assert ended.returncode == 1, ended.stdout
    reported = re.search(r"seed (\d+) fails with AssertionError", ended.stdout)
    assert reported is not None, ended.stdout
    assert "kill_program for" in ended.stdout or "double_program for" in ended.stdout, ended.stdout
    assert f"--oncelog-seed {reported[1]}" in ended.stdout
    narrow = tmp_path / "narrow.py"
    narrow.write_text(NARROWED.replace("[88]", f"[{reported[1]}]"), encoding="utf-8")
    shown = _run(tmp_path, "narrow.py")
    assert shown.returncode == 0 and re.search(r"^ +[\d.]+  bill +is killed$", shown.stdout, re.MULTILINE), shown
