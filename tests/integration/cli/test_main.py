"""What all commands have in common."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys

import click

from oncelog.cli.main import COMMANDS, command
from tests.integration.cli.conftest import Served, call, run


def _commands(group: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command and subcommand, by its words."""
    if not isinstance(group, click.Group):
        return [path]
    context = click.Context(group)
    inner = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [path, *(found for name, item in inner if item is not None for found in _commands(item, (*path, name)))]


def test_every_command_has_help_with_an_example() -> None:
    for path in _commands(command):
        text = call(*path, "--help").done().out
        assert "Example" in text, path
        assert f"oncelog {' '.join(path)}".strip() in text, path
    assert {path[0] for path in _commands(command) if path} == set(COMMANDS)


def test_the_examples_of_the_help_can_be_copied() -> None:
    for path in _commands(command):
        shown = call(*path, "--help").done().out.partition("Options:")[0]
        examples = [line.strip() for line in shown.splitlines() if re.match(r" +.*\boncelog [a-z-]+ ?", line)]
        assert examples, path
        for example in examples:
            words = shlex.split(re.split(" [<>] ", example.rpartition(" | ")[2].split("$(")[-1].split(")")[0])[0])
            if words[0] == "oncelog":
                _parse(words[1:])


SHORT = {"--bootstrap-server": "-b", "--config": "-F", "--json": "-J", "--set": "-X", "--topic": "-t"}


def test_an_option_has_the_same_short_form_in_every_command() -> None:
    for path in _commands(command):
        found: click.Command | None = command
        for word in path:
            assert isinstance(found, click.Group)
            found = found.get_command(click.Context(found), word)
        assert found is not None
        for option in found.params:
            for name in SHORT.keys() & set(option.opts):
                assert SHORT[name] in option.opts, (path, name)


def _parse(words: list[str]) -> None:
    """:raises click.UsageError: there is no such command or option; files of examples need not be there."""
    found: click.Command = command
    context = click.Context(command, info_name="oncelog")
    while isinstance(found, click.Group):
        _, chosen, words = found.resolve_command(context, words)
        assert chosen is not None
        found = chosen
    try:
        found.make_context("oncelog", list(words))
    except click.BadParameter as error:
        if "does not exist" not in str(error.message):
            raise


def test_debug_after_the_command_shows_the_traceback() -> None:
    failed = run("topics", "list", "--debug", "--bootstrap-server", "127.0.0.1:1")
    assert failed.code == 1
    assert "Traceback" in failed.err
    assert "KafkaConnectionError" in failed.err.splitlines()[-1]


BUG = """
import oncelog.cli.main as program
def break_down(context): raise ZeroDivisionError("division by zero")
program.command.invoke = break_down
program.main(["topics"])
"""


def test_an_internal_error_is_reported_in_one_sentence() -> None:
    ended = subprocess.run([sys.executable, "-c", BUG], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("oncelog: unexpected ZeroDivisionError")
    assert len(ended.stderr.splitlines()) == 1


def test_every_listing_prints_valid_json(served: Served) -> None:
    for words in (("topics", "list"), ("groups", "list"), ("transactions", "list"), ("transactions", "find-hanging")):
        assert isinstance(json.loads(served.run(*words, "--json").done().out), list), words


def test_an_option_without_its_value_is_reported_with_the_help_of_its_command() -> None:
    refused = call("consume", "-t")
    assert (refused.code, refused.sentence()) == (
        2,
        "oncelog: option '-t' requires an argument; see oncelog consume --help",
    )
