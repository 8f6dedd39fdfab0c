"""Types of parameters that every command has, or that ``serve`` has, which starts without the client's options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.types import StringParamType

if TYPE_CHECKING:
    from pathlib import Path


class Utf8(StringParamType):
    """A text that requests can contain: bytes of the command line that are not UTF-8 are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        given = str(super().convert(value, param, ctx))
        try:
            given.encode()
        except UnicodeEncodeError:
            self.fail(f"text in UTF-8 is needed, not {given!r}", param, ctx)
        return given


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


class PathParameter(click.Path):
    """A ``Path``. Its module, which takes 3 ms to import, is imported for a path that is given."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from pathlib import Path

        return Path(str(super().convert(value, param, ctx)))
