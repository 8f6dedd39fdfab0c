"""Prints the findings of ``oncelog verify``, and determines its exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NoReturn, TypeVar

import click

from oncelog.apps.verify.findings import KINDS, ExitStatus, Report, Verdict
from oncelog.cli.shared.output import counted, remark, show_json
from oncelog.errors import ConfigError, OncelogError

Function = TypeVar("Function", bound=Callable[..., Any])


def ends_with_2_if_unchecked(function: Function) -> Function:
    """A decorator for commands: if the check cannot be carried out, print the reason in one line and exit with status
    2."""

    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except OncelogError as error:
            message = str(error) if isinstance(error, ConfigError) else f"could not be checked: {error}"
            click.echo(f"oncelog: {message}", err=True)
            raise click.exceptions.Exit(ExitStatus.COULD_NOT_TELL.value) from error
        except BrokenPipeError:  # the reader of the report has closed the pipe
            raise
        except OSError as error:
            click.echo(f"oncelog: could not be checked: {error.strerror or error}{_of_file(error)}", err=True)
            raise click.exceptions.Exit(ExitStatus.COULD_NOT_TELL.value) from error

    return wrapped  # type: ignore[return-value]


def _of_file(error: OSError) -> str:
    return "" if error.filename is None else f": {error.filename}"


def show(report: Report, looked: str, *, as_json: bool, strict: bool = False, shows_all: bool = False) -> NoReturn:
    """Print a report, and exit with its status.

    :param looked: a description, for people, of what was checked.
    :param strict: also count findings that Kafka allows.
    """
    status = report.status(strict=strict)
    if as_json:
        show_json(
            {
                "status": status.name.lower(),
                "looked_at": vars(report.totals),
                "counts": dict(report.counts),
                "findings": [found.as_json() for found in report.findings()],
            }
        )
    else:
        for line in _lines(report, shows_all or strict):
            click.echo(line)
        found, unknown = report.count(Verdict.FOUND), report.count(Verdict.UNKNOWN)
        message = counted(found, "finding") if found else "nothing found"
        remark(f"{looked}: {message}" + (f", {unknown} could not be checked" if unknown else ""))
        if (allowed := report.count(Verdict.ALLOWED)) and not shows_all:
            remark(f"{counted(allowed, 'unusual thing')} that Kafka allows; --all shows them")
    sys.stdout.flush()
    raise click.exceptions.Exit(status.value)


def _lines(report: Report, shows_all: bool) -> Iterator[str]:
    shown = list(report.findings(*(Verdict if shows_all else (Verdict.FOUND, Verdict.UNKNOWN))))
    for found in shown:
        offsets = "" if found.first_offset < 0 else f" {found.first_offset}"
        if found.last_offset > found.first_offset:
            offsets += f"-{found.last_offset}"
        who = "" if found.producer_id < 0 else f", producer {found.producer_id} epoch {found.producer_epoch}"
        if found.transactional_id is not None:
            who += f" ({found.transactional_id})"
        place = "cluster" if found.where is None else str(found.where)
        yield f"{found.kind}: {place}{offsets}{who}: {found.detail}"
    for name in dict.fromkeys(found.kind for found in shown):
        more = report.counts[name] - sum(found.kind == name for found in shown)
        rest = f" ({more} more)" if more else ""
        yield f"\n{name}{rest}: {KINDS[name].means} What to do: {KINDS[name].todo}."
