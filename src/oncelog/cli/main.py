"""The command ``oncelog``: names the subcommands, loads the one that is called, and turns errors into one sentence.

Each subcommand is a module of this package with a click command or group named ``command``. Exit status: 0 done,
1 refused or failed (one sentence on standard error), 2 wrong usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from oncelog.errors import OncelogError

COMMANDS = {
    "serve": "Run the broker.",
    "topics": "List, create, describe, change and delete topics.",
    "produce": "Write records, exactly once if you like.",
    "consume": "Read records.",
    "groups": "Consumer groups, their members, offsets and lag.",
    "transactions": "Transactions: which are open, what holds readers back, and how to end it.",
    "dump-log": "Show what the files of a log say.",
    "pipeline": "Run a data pipeline on Spark.",
    "demo": "The main job on real data, with crashes, proven record by record.",
}


class LazyGroup(click.Group):
    """Imports a subcommand's module only when it is called: ``serve`` must start in milliseconds."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"oncelog.cli.{name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            raise click.UsageError(f"there is no command {args[0]!r}; the commands are {', '.join(COMMANDS)}")
        return super().resolve_command(context, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="oncelog")
@click.pass_context
def command(context: click.Context, debug: bool) -> None:
    """An event log with exactly-once semantics that speaks Apache Kafka's protocol.

    Example: oncelog serve --listen 127.0.0.1:9092 --data ./data
    """
    context.obj = {"debug": debug}


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the console script."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    try:
        command.main(args, prog_name="oncelog", standalone_mode=False)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except click.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except OncelogError as error:
        if "--debug" in args:
            raise
        click.echo(f"oncelog: {error}", err=True)
        sys.exit(1)
