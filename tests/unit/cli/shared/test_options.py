"""What options accept: finite waits in seconds, texts that fit into requests."""

from __future__ import annotations

import math

import click
import pytest

from oncelog.cli.main import COMMANDS, SUBCOMMANDS, command
from oncelog.cli.shared.options import LONGEST_S, Seconds
from oncelog.cli.shared.parameters import UTF8
from tests.integration.cli.conftest import call


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e300", "-1", "0.05", str(LONGEST_S + 1), "soon"])
def test_timeouts_that_are_too_long_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Seconds(0.1).convert(text, None, None)


@pytest.mark.parametrize("text", ["0.1", "30", str(LONGEST_S)])
def test_timeouts_in_seconds_are_accepted(text: str) -> None:
    assert math.isclose(Seconds(0.1).convert(text, None, None), float(text))


@pytest.mark.parametrize(
    "words",
    [
        ("transactions", "list", "--longer-than", "nan"),
        ("transactions", "list", "--longer-than", "1e300"),
        ("consume", "-t", "t", "--timeout", "nan"),
        ("top", "--interval", "inf"),
        ("conformance", "--timeout", "inf"),
        ("demo", "--seconds", "inf"),
    ],
)
def test_every_command_refuses_a_bad_timeout_before_connecting(words: tuple[str, ...]) -> None:
    refused = call(*words)
    assert refused.code == 2
    assert f"invalid value for '{words[-2]}'" in refused.sentence()


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "create", "\udcff"),
        ("topics", "create", "t", "--set-config", "a=\udcff"),
        ("produce", "-t", "t", "-K", "\udcff"),
        ("produce", "-t", "t", "-H", "a=\udcff"),
        ("produce", "-t", "t", "--transactional-id", "\udcff"),
        ("consume", "-t", "t", "-f", "%s\udcff"),
        ("serve", "--set", "broker.rack=\udcff"),
        ("acls", "list", "--topic", "\udcff"),
        ("transactions", "abort", "-t", "\udcff", "--partition", "0", "--start-offset", "0"),
    ],
)
def test_option_values_that_are_not_text_are_wrong_usage(words: tuple[str, ...]) -> None:
    refused = call(*words)
    assert refused.code == 2
    assert "UTF-8" in refused.sentence()


def _parameters(group: click.Command) -> list[click.Parameter]:
    inner = group.commands.values() if isinstance(group, click.Group) else []
    return [*group.params, *(parameter for item in inner for parameter in _parameters(item))]


def test_every_text_option_is_checked_for_valid_text() -> None:
    found = [
        parameter
        for name in COMMANDS
        for parameter in _parameters(command.get_command(click.Context(command), name) or click.Command(name))
    ]
    assert any(parameter.type is UTF8 for parameter in found)
    assert not [parameter for parameter in found if parameter.type is click.STRING]


def test_an_incomplete_command_is_refused_and_existing_commands_suggested() -> None:
    for name, words in SUBCOMMANDS.items():
        group = command.get_command(click.Context(command), name)
        assert isinstance(group, click.Group)
        assert set(words.split()) <= set(group.commands)
    assert (
        call("history", "orders-1")
        .sentence()
        .startswith("oncelog: there is no command 'history'; did you mean transactions history?")
    )
