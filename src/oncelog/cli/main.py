"""The command ``oncelog``: names the subcommands, loads the one that is called, and reports an error in one sentence.

Each subcommand is a module in a folder next to this file, with a click command or group named ``command``. Exit status:
0 done, 1 refused or failed (one sentence on standard error), 2 wrong usage. ``--debug`` may stand anywhere before a
``--``. With ``--log-format json`` the sentence is written as a line of the log, because containers collect standard
output and standard error as one stream.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from itertools import pairwise
from types import TracebackType
from typing import Any

import click

from oncelog.errors import Error, KafkaError, OncelogError

COMMANDS = {
    "serve": ("programs", "Run the broker."),
    "topics": ("administration", "List, create, describe, change and delete topics."),
    "acls": ("administration", "Access control lists: list, add and remove."),
    "users": ("administration", "Users that log in with SCRAM: list, add and remove."),
    "produce": ("records", "Write records, exactly once if you like."),
    "consume": ("records", "Read records."),
    "groups": ("administration", "Consumer groups, their members, offsets and lag."),
    "cluster": ("administration", "Nodes, the controller, and the leader of each partition."),
    "configs": ("administration", "Settings of topics, brokers and groups."),
    "get-offsets": ("administration", "Offsets of partitions: first, last, or at a time."),
    "delete-records": ("administration", "Delete the oldest records of partitions."),
    "transactions": ("administration", "Transactions: which are open, what holds readers back, and how to end it."),
    "dump-log": ("records", "Show the contents of log files."),
    "console": ("programs", "The cluster in a browser: records with their outcomes, transactions, groups, pipelines."),
    "schema-registry": ("programs", "A schema registry with Confluent's REST API, on any cluster."),
    "schemas": ("administration", "Schemas of a registry: list, show, register, check, compare, delete."),
    "pipeline": ("programs", "Run a data pipeline on Spark."),
    "export": ("records", "Export a topic into Parquet, CSV or Delta, each record once."),
    "redrive": ("programs", "Send dead letters back to where they came from, each once."),
    "proxy": ("programs", "A proxy that injects faults in front of any broker, for tests."),
    "lab": ("programs", "Run, explain and draw flows that show exactly-once on the wire."),
    "conformance": ("programs", "Black-box checks of any broker's exactly-once guarantees."),
    "verify": ("records", "Check logs, copies and pipelines for what contradicts exactly-once."),
    "promote": ("programs", "Turn a data folder into an Apache Kafka node."),
    "mirror": ("programs", "Copy topics from one cluster to another, live, with whole transactions."),
    "completion": ("programs", "Shell completion for commands, topics and groups."),
    "top": ("administration", "Live view of what a cluster is doing."),
    "doctor": ("doctor", "Check this installation and a cluster for problems."),
    "demo": ("programs", "The main job on real data, with crashes, proven record by record."),
}
"""The folder of each command's module, and the sentence that the help shows for the command."""

LISTED = ", ".join(COMMANDS)

LOGGING = ("serve", "console")
"""Commands with ``--log-format``."""

SUBCOMMANDS = {
    "transactions": "history describe-producers find-hanging abort fence complete",
    "groups": "reset-offsets delete-offsets",
}
"""Subcommands that people type without their group; the error then names the group."""

NEXT_STEPS = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: "see oncelog topics list, or create it with oncelog topics create",
    Error.TRANSACTIONAL_ID_NOT_FOUND: "see oncelog transactions list",
    Error.GROUP_ID_NOT_FOUND: "see oncelog groups list",
    Error.RESOURCE_NOT_FOUND: "see oncelog users list",
    Error.SECURITY_DISABLED: "the broker needs the setting authorizer.class.name="
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer (kafka.security.authorizer.AclAuthorizer on a cluster "
    "with ZooKeeper), and super.users for its administrator",
}
"""Advice for errors of brokers, by code; it is added to a message that has no semicolon, and so no advice of its
own."""

_ESCAPED = "oncelog.escaped"

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class LazyGroup(click.Group):
    """The group of all commands, which imports a command's module only when the command is called, because ``serve``
    must start in milliseconds."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        with (context.obj or nullcontext)(name):
            module = import_module(f"oncelog.cli.{COMMANDS[name][0]}.{name.replace('-', '_')}")
            from oncelog.cli.shared.parameters import in_utf8
        command: click.Command = module.command
        return in_utf8(command)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            from oncelog.settings.fields import nearest

            inner = [f"{name} {args[0]}" for name, words in SUBCOMMANDS.items() if args[0] in words.split()]
            rest = f"; did you mean {' or '.join(inner)}?" if inner else nearest(args[0], COMMANDS)
            raise click.UsageError(f"there is no command {args[0]!r}{rest or f'; the commands are {LISTED}'}")
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> Any:
        """Run the subcommand."""
        with _output_may_end():
            result = super().invoke(context)
            sys.stdout.flush()
        return result

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        """Parse the options. ``--version`` and ``--help`` print their text here, so the output may end here, too."""
        with _output_may_end():
            return super().make_context(*args, **settings)


@contextmanager
def _output_may_end() -> Iterator[None]:
    """A context for writing output: if the reader closes the output, the command ends silently; if the disk is full, it
    ends with a sentence."""
    try:
        yield
    except BrokenPipeError:
        _throw_output_away()
        raise click.exceptions.Exit(0) from None
    except OSError as error:
        if error.errno not in FULL:
            raise
        _throw_output_away()
        raise OncelogError(f"nothing more can be written: {os.strerror(error.errno)}") from None


def _throw_output_away() -> None:
    """Discard the output, so that nothing is flushed to a broken pipe or a full disk at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_version(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        from oncelog import __version__
        from oncelog.records import native

        click.echo(f"oncelog {__version__}, record codec: {native.codec()}")
        context.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error. May also follow the command.")
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version."
)
def command(debug: bool) -> None:
    """An event log with exactly-once semantics that speaks Apache Kafka's protocol.

    \b
    Example:
      oncelog serve --listen 127.0.0.1:9092 --data ./data
    """


def main(
    arguments: Sequence[str] | None = None, loading: Callable[[str], AbstractContextManager[object]] = nullcontext
) -> None:
    """Run a command, then end the program.

    :param loading: returns the context in which the command's module is imported, given the command's name.
    """
    _open_missing_streams()
    _print_every_letter()
    _end_as_first_process()
    args, debug = _without_debug(sys.argv[1:] if arguments is None else arguments)
    if not debug:
        sys.excepthook = partial(_say_bug, args)
    try:
        code = command.main(args, prog_name="oncelog", standalone_mode=False, obj=loading)
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _throw_output_away()  # otherwise the flush at exit could wait for a reader of the pipe that has stopped reading
        sys.exit(130)
    except click.ClickException as error:
        _say_wrong_usage(error, args)
        sys.exit(error.exit_code)
    except OncelogError as error:
        if debug:
            raise
        step = NEXT_STEPS.get(error.error) if isinstance(error, KafkaError) and "; " not in str(error) else None
        _say(f"{error}" + (f"; {step}" if step else ""), args)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _open_missing_streams() -> None:
    """Open standard streams that are closed on the null device; otherwise the next file or socket would get their
    descriptors."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            # open() takes the lowest free number, which is that of the closed descriptor
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _print_every_letter() -> None:
    """Let characters that the encoding of standard output lacks (``LC_ALL=C``, a Windows code page) be escaped as in
    JSON."""
    codecs.register_error(_ESCAPED, _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_ESCAPED)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)), error.end


def _end_as_first_process() -> None:
    """Let SIGTERM end the process if it is the first process of a container, for which the kernel has no default
    action."""
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def _without_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without ``--debug``, and whether ``--debug`` was among them."""
    args = list(arguments)
    end = args.index("--") if "--" in args else len(args)
    kept = [argument for argument in args[:end] if argument != "--debug"] + args[end:]
    return kept, len(kept) < len(args)


def _say(sentence: str, args: Sequence[str]) -> None:
    """Print the sentence that explains why the command ended, as text or as a JSON line, as the log is written."""
    if _logs_json(args):
        import logging

        from oncelog.broker.server.process.log_lines import json_line

        click.echo(json_line(logging.ERROR, sentence), err=True)
    else:
        click.echo(f"oncelog: {sentence}", err=True)


def _logs_json(args: Sequence[str]) -> bool:
    """Whether the arguments contain ``--log-format json``. They are read without click, because click may refuse
    them."""
    given = "text"
    for argument, following in pairwise([*args, ""]):
        if argument == "--":
            break
        if argument == "--log-format":
            given = following
        elif argument.startswith("--log-format="):
            given = argument.partition("=")[2]
    return given == "json" and args[0] in LOGGING


def _say_wrong_usage(error: click.ClickException, args: Sequence[str]) -> None:
    """Report wrong usage in one line that names the command whose --help shows the usage. A group without a subcommand
    shows its help instead."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return
    where = "oncelog" if not args or args[0] not in COMMANDS else f"oncelog {args[0]}"
    # errors of click's option parser have no command context
    if isinstance(error, click.UsageError) and error.ctx is not None:
        where = error.ctx.command_path
    text = " ".join(error.format_message().split()).rstrip(".").replace(". (", " (").replace(". Did", "; did")
    text = text.replace("integer range", "whole number")
    then = " See" if text.endswith("?") else "; see"
    _say(f"{text[:1].lower()}{text[1:]}{then} {where} --help", args)


def _say_bug(args: Sequence[str], kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Report an unexpected error in one sentence, too, with advice on how to get its traceback."""
    what = f"{kind.__name__}: {error}" if str(error) else kind.__name__
    _say(f"unexpected {what}; run it again with --debug and report it", args)
