"""Types of command-line parameters that ``serve`` uses, too; this module therefore imports nothing of the clients."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from click.types import StringParamType

if TYPE_CHECKING:
    from pathlib import Path


def utf8_text(given: str) -> str:
    """A text of the command line, read as UTF-8 in every locale.

    :raises UnicodeError: it is not UTF-8.
    """
    try:
        given.encode()
    except UnicodeEncodeError:
        # under an ASCII locale Python keeps other bytes of an argument as surrogates
        return os.fsencode(given).decode()
    return given


class Utf8(StringParamType):
    """A text that requests can contain: bytes of the command line that are not UTF-8 are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        given = str(super().convert(value, param, ctx))
        try:
            return utf8_text(given)
        except UnicodeError:
            self.fail(f"text in UTF-8 is needed, not {given!r}", param, ctx)


UTF8 = Utf8()


def in_utf8(command: click.Command) -> click.Command:
    """Use ``Utf8`` as the type of every text without another type, in the command and its subcommands."""
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = UTF8
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            in_utf8(inner)
    return command


class CommandGroup(click.Group):
    """A group whose help shows each subcommand's first sentence in full; click's cuts a sentence off at the edge of the
    terminal."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(limit=500)) for name in self.list_commands(context)]
            )


class PropertiesFile(click.Path):
    """The type of an option that takes a properties file, as a ``Path``.

    ``pathlib`` takes 3 ms to import, so it is imported only if a file is given. ``--config`` of Kafka's own tools takes
    a property instead: for such an argument the error names the option that takes properties here.
    """

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from pathlib import Path

        try:
            return Path(str(super().convert(value, param, ctx)))
        except click.BadParameter as error:
            if "=" not in str(value):
                raise
            known = [] if ctx is None else [name for one in ctx.command.params for name in one.opts]
            option = "--set-config" if "--set-config" in known else "--set"
            advice = f"it takes a properties file; for a property, {option} {value}"
            raise click.BadParameter(advice, ctx, param) from error
