"""How commands print: aligned tables, JSON lines, progress on a terminal.

Called by the commands. Results go to standard output; progress and remarks go to standard error, progress only if that
is a terminal and rich is installed.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.runtime.shown import show_text

Advance = Callable[[int, str], None]


def show_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    click.echo(json.dumps(value, ensure_ascii=False))


@contextmanager
def cleaning_up() -> Iterator[None]:
    """A context in which SIGTERM and SIGHUP interrupt the program as Ctrl-C does, so that its ``finally`` blocks remove
    what it has created in a cluster. A signal that is ignored (``nohup``) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, _end_by)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])


def _end_by(number: int, frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def counted(count: int, noun: str) -> str:
    """A number with its noun: ``1 record``, ``2 records``, ``2 batches``."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"


def show_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table whose columns are as wide as needed, with numbers aligned right. A name chosen by a client is
    printed on one line."""
    cells = [["-" if cell is None else show_text(str(cell)) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [headings, *cells]) for column in range(len(headings))]
    numeric = [all(isinstance(row[column], int | None) for row in rows) for column in range(len(headings))]
    for line in [headings, *cells]:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def show_rows(as_json: bool, rows: Sequence[Mapping[str, object]], headings: Sequence[str], empty: str) -> None:
    """Print rows as a table of the named fields, or as one JSON array with all fields. Without rows, a table is
    replaced by the remark ``empty``."""
    if as_json:
        show_json([dict(row) for row in rows])
    elif rows:
        show_table(
            [heading.upper().replace("_", "-") for heading in headings], [[r[h] for h in headings] for r in rows]
        )
    else:
        click.echo(empty, err=True)


def check_writable(option: str, path: Path) -> None:
    """Check that a file can be written, before the work whose result it will contain begins.

    :raises ConfigError: it cannot be written, or its folder cannot be created.
    """
    there = path.exists()
    if there and not path.is_file() and not path.is_dir():
        return  # a pipe or a device: opening and closing it would show its reader an end of file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise ConfigError(f"{option} {path}: this file cannot be written: {error.strerror}") from error
    if not there:
        path.unlink()


def remark(text: str) -> None:
    """Print a remark on standard error, apart from the result."""
    click.echo(text, err=True)


def draws_progress() -> bool:
    """Whether bars can be shown: standard error is a terminal, and ``oncelog[cli]`` is installed."""
    return sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Advance]:
    """A context with a progress bar on standard error, moved by ``advance(amount, text)``; without a terminal or rich,
    ``advance`` does nothing."""
    if not draws_progress():
        yield lambda amount, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(description, total=total, text="")
        yield lambda amount, text: bars.update(task, advance=amount, text=text)
