"""How the entry point reads its arguments."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from oncelog.cli import loading
from oncelog.cli.main import COMMANDS, _logs_json, _say_bug, _without_debug, command, main


@pytest.mark.parametrize(
    ("given", "kept", "debug"),
    [
        (["--debug", "topics", "list"], ["topics", "list"], True),
        (["topics", "list", "--debug"], ["topics", "list"], True),
        (["topics", "list"], ["topics", "list"], False),
        (["topics", "create", "--", "--debug"], ["topics", "create", "--", "--debug"], False),
    ],
)
def test_the_option_debug_may_stand_anywhere_before_the_double_dash(
    given: list[str], kept: list[str], debug: bool
) -> None:
    assert _without_debug(given) == (kept, debug)


@pytest.mark.parametrize(
    ("error", "printed"), [(NotImplementedError(), "NotImplementedError"), (ValueError("x"), "ValueError: x")]
)
def test_an_internal_error_without_a_message_is_reported_by_its_type(
    error: Exception, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _say_bug(["topics", "list"], type(error), error, None)
    assert capsys.readouterr().err == f"oncelog: unexpected {printed}; run it again with --debug and report it\n"


@pytest.mark.parametrize(
    ("given", "in_json"),
    [
        (["serve", "--log-format", "json", "--nope"], True),
        (["console", "--nope", "--log-format=json"], True),
        (["serve", "--log-format", "json", "--log-format", "text"], False),
        (["serve", "--log-format"], False),
        (["serve", "--", "--log-format", "json"], False),
        (["topics", "--log-format", "json"], False),
        ([], False),
    ],
)
def test_the_log_format_is_found_in_unparsable_arguments(given: list[str], in_json: bool) -> None:
    assert _logs_json(given) is in_json


def test_a_program_that_runs_a_command_keeps_its_own_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def load(name: str) -> object:
        seen.append(signal.getsignal(signal.SIGINT))
        return import_module(name)

    monkeypatch.setattr("oncelog.cli.main.import_module", load)
    monkeypatch.setattr("sys.excepthook", sys.excepthook)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit):
            main(["topics", "--help"])
        with pytest.raises(SystemExit):
            main(["topics", "--help"], loading=loading)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.default_int_handler, signal.SIG_DFL]


def test_the_garbage_collector_is_off_during_imports() -> None:
    with loading("topics"):
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.unfreeze()


def test_the_version_is_shown_without_loading_the_broker() -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "oncelog", "--version"], capture_output=True, text=True, check=True
    )
    loaded = {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines()}
    assert shown.stdout.startswith("oncelog ")
    assert "oncelog.records.native" in loaded
    assert not {name for name in loaded if name.startswith(("asyncio", "oncelog.broker", "oncelog.client"))}


GROUPS = [name for name in COMMANDS if isinstance(command.get_command(click.Context(command), name), click.Group)]


@pytest.mark.parametrize("name", GROUPS)
def test_the_help_of_a_group_shows_the_first_sentence_of_each_subcommand_in_full(name: str) -> None:
    group = command.get_command(click.Context(command), name)
    assert isinstance(group, click.Group)
    shown = CliRunner().invoke(group, ["--help"], terminal_width=60).output
    without_line_breaks = " ".join(shown.replace("-\n", "-").split())
    for inner in group.commands.values():
        first_paragraph = str(inner.help).split("\n\n")[0]
        sentence = " ".join(first_paragraph.split()).split(". ")[0].removesuffix(".")
        assert f"{inner.name} {sentence}" in without_line_breaks.replace("- ", "-"), sentence
