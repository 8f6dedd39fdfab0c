"""Write ``docs/reference/command-line.md`` from the commands themselves; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from oncelog.cli.main import command

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command-line.md"

INTRODUCTION = """\
# Command line

Made by `python tools/document_commands.py` from the commands; do not edit. A guide:
[command line](../how-to/command-line.md).

Results go to standard output; progress bars, counts and errors to standard error, bars only on a terminal.
Exit status: 0 done, 1 refused or failed, 2 wrong usage, 130 interrupted. An error is one sentence; `--debug`,
before or after the command, shows the traceback. Client commands take the broker's address from
`--bootstrap-server`, else from the property `bootstrap.servers` of `--set` or `--config`, else from the
environment variable `ONCELOG_BOOTSTRAP_SERVER`, else it is 127.0.0.1:9092.
"""
WIDTH = 110


def main() -> int:
    page = "\n".join(_page())
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python tools/document_commands.py\n")
        return 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page)
    return 0


def _page() -> Iterator[str]:
    yield INTRODUCTION
    help_names = ["-h", "--help"]
    root = click.Context(command, info_name="oncelog", help_option_names=help_names)
    for name in command.list_commands(root):
        found = command.get_command(root, name)
        if found is not None:
            yield from _command(found, root, name, 2)


def _command(found: click.Command, parent: click.Context, name: str, level: int) -> Iterator[str]:
    """The help of a command, followed by the help of each of its subcommands."""
    settings = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(found, parent=parent, info_name=name, **settings)  # type: ignore[arg-type]
    yield f"{'#' * level} {context.command_path}\n"
    yield "```text"
    yield found.get_help(context)
    yield "```\n"
    if isinstance(found, click.Group):
        for inner in found.list_commands(context):
            item = found.get_command(context, inner)
            if item is not None:
                yield from _command(item, context, inner, level + 1)


if __name__ == "__main__":
    sys.exit(main())
