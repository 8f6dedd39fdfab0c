"""``oncelog doctor`` and ``--version``: which parts run, and what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oncelog.records import native
from tests.cli.conftest import call, run

HIDDEN = """
import sys
sys.modules["oncelog.records._native"] = None
from oncelog.cli.main import main
main(["--version"])
"""


def test_it_tells_every_part() -> None:
    found = call("doctor", "--json").done().json
    assert list(found) == ["oncelog", "python", "record_codec", "event_loop", "data_on_disk", "spark", "java"]
    assert found["record_codec"] == ("compiled" if native.compiled is not None else found["record_codec"])
    assert "fdatasync" in found["data_on_disk"]
    assert "record codec" in call("doctor").done().out


@pytest.mark.parametrize("command", [["--version"], ["doctor"]])
def test_a_twin_that_was_asked_for_is_named(command: list[str]) -> None:
    assert "pure Python, slower (ONCELOG_PURE is set)" in run(*command, env={"ONCELOG_PURE": "1"}).done().out


def test_a_compiled_module_that_is_missing_is_named() -> None:
    ended = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, check=True)
    assert "pure Python, slower (the compiled module is not there" in ended.stdout
