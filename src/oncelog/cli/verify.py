"""``oncelog verify``: what in logs, copies and pipelines contradicts exactly-once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oncelog.cli.completion import complete_topics
from oncelog.cli.options import Cluster, Seconds, cluster_options, text
from oncelog.cli.output import counted, progress, remark, show_json
from oncelog.errors import ConfigError, OncelogError

if TYPE_CHECKING:
    from oncelog.verify.findings import Report
    from oncelog.verify.log_topics import Wanted

Function = TypeVar("Function", bound=Callable[..., Any])
COULD_NOT_TELL = 2


@click.group("verify")
def command() -> None:
    """Prove it on your cluster: check logs, copies and pipelines for everything that contradicts exactly-once.

    Exit status 0: nothing was found, 1: something was found, 2: it could not be told. Works with any Kafka, and changes
    nothing.

    \b
    Example:
      oncelog verify log orders payments
    """


def _says_when_it_cannot_tell(function: Function) -> Function:
    """End with status 2 after a sentence if the check cannot be carried out."""

    @wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except ConfigError:
            raise
        except OncelogError as error:
            click.echo(f"oncelog: could not tell: {error}", err=True)
            raise click.exceptions.Exit(COULD_NOT_TELL) from error

    return wrapped  # type: ignore[return-value]


@command.command("log")
@click.argument("topics", nargs=-1, type=text, shell_complete=complete_topics)
@click.option(
    "--log-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Check files instead of a broker: a data folder of oncelog or Apache Kafka, or a partition's folder in it.",
)
@click.option(
    "--compacted",
    is_flag=True,
    help="Missing offsets are the work of compaction, also where a topic's settings do not say so.",
)
@click.option("--headers-only", is_flag=True, help="Do not look into records: faster, and keys are not compared.")
@click.option("--no-reader", is_flag=True, help="Do not compare with a read_committed reader, which reads all again.")
@click.option(
    "--transaction-limit",
    type=Seconds(),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="With --log-dir: how long a transaction may be open.",
)
@click.option("--strict", is_flag=True, help="Exit status 1 also for what is unusual but allowed.")
@click.option("--all", "shows_all", is_flag=True, help="Show also what is unusual but allowed, one by one.")
@cluster_options
@_says_when_it_cannot_tell
def log(
    cluster: Cluster,
    topics: tuple[str, ...],
    log_dir: Path | None,
    compacted: bool,
    headers_only: bool,
    no_reader: bool,
    transaction_limit: float,
    strict: bool,
    shows_all: bool,
) -> None:
    """Check everything in the log of TOPICS, control records included.

    Sequences, epochs, transactions and their markers, offsets, checksums, the last stable offset, keys after
    compaction, and what a read_committed reader is given. What Kafka allows (a producer that expired, compaction, an
    unclean election that the topic permits) is told as such. Each finding has a name; they are listed in
    docs/reference/verify.md.

    \b
    Examples:
      oncelog verify log orders payments
      oncelog verify log orders --json
      oncelog verify log --log-dir data
    """
    from oncelog.verify.findings import Report
    from oncelog.verify.log_topics import Wanted

    report = Report()
    if log_dir is not None:
        _check_folder(report, log_dir, topics, compacted, headers_only, int(transaction_limit * 1000))
    elif not topics:
        raise click.UsageError("name the topics to check, or --log-dir")
    else:
        wanted = Wanted(decodes=not headers_only, reads=not no_reader, compacted=compacted)
        asyncio.run(_check_topics(report, cluster, topics, wanted))
    _show(report, cluster.as_json, strict, shows_all)


async def _check_topics(report: Report, cluster: Cluster, topics: tuple[str, ...], wanted: Wanted) -> None:
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.core.config import ConsumerConfig
    from oncelog.verify.log_topics import count_offsets, verify_topics

    more = {"isolation_level": "read_committed", "auto_offset_reset": "none", "enable_auto_commit": "false"}
    reader = cluster.settings(ConsumerConfig, **more)
    async with Admin(config=cluster.admin_settings()) as admin:
        total = await count_offsets(admin, topics)
        with progress("offsets", total) as advance:
            await verify_topics(admin, reader, topics, wanted, report, advance)


def _check_folder(
    report: Report, folder: Path, topics: tuple[str, ...], compacted: bool, headers_only: bool, limit_ms: int
) -> None:
    from oncelog.log.file_names import parse_partition_folder
    from oncelog.server.disk.os_disk import OsDisk
    from oncelog.verify.expected import Expected
    from oncelog.verify.log_folder import PartitionFolder, partition_folders, verify_folder

    folder = folder.resolve()
    where = parse_partition_folder(folder.name)
    if where is not None and any(folder.glob("*.log")):
        disk = OsDisk(str(folder.parent), read_only=True)
        folders = [PartitionFolder(where, folder.name)]
    else:
        disk = OsDisk(str(folder), read_only=True)
        folders = partition_folders(disk, topics)
    expected = Expected(compacted=compacted, transaction_limit_ms=limit_ms)
    total = sum(path.stat().st_size for one in folders for path in (Path(disk.root) / one.path).glob("*.log"))
    with progress("bytes", total) as advance:
        verify_folder(disk, folders, expected, report, decodes=not headers_only, tell=advance)


def _show(report: Report, as_json: bool, strict: bool, shows_all: bool) -> None:
    """Print a report, and end with its status."""
    from oncelog.verify.findings import Verdict

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
        remark(_summary(report))
        if allowed := report.count(Verdict.ALLOWED):
            remark(
                f"{counted(allowed, 'unusual thing')} that Kafka allows" + ("" if shows_all else "; --all shows them")
            )
    sys.stdout.flush()
    raise click.exceptions.Exit(status.value)


def _lines(report: Report, shows_all: bool) -> Iterator[str]:
    from oncelog.verify.findings import KINDS, Verdict

    shown = list(report.findings(*(Verdict if shows_all else (Verdict.FOUND, Verdict.UNKNOWN))))
    told: set[str] = set()
    for found in shown:
        offsets = "" if found.first_offset < 0 else f" {found.first_offset}"
        if found.last_offset > found.first_offset:
            offsets += f"-{found.last_offset}"
        who = "" if found.producer_id < 0 else f", producer {found.producer_id} epoch {found.producer_epoch}"
        if found.transactional_id is not None:
            who += f" ({found.transactional_id})"
        place = "cluster" if found.where is None else str(found.where)
        yield f"{found.kind}: {place}{offsets}{who}: {found.detail}"
    for found in shown:
        if found.kind not in told:
            told.add(found.kind)
            kind = KINDS[found.kind]
            more = report.counts[found.kind] - sum(other.kind == found.kind for other in shown)
            rest = f" ({more} more)" if more else ""
            yield f"\n{found.kind}{rest}: {kind.means} What to do: {kind.todo}."


def _summary(report: Report) -> str:
    from oncelog.verify.findings import Verdict

    totals = report.totals
    looked = (
        f"{counted(totals.partitions, 'partition')}, {counted(totals.records, 'record')}, "
        f"{counted(totals.producers, 'producer')}, {counted(totals.transactions, 'transaction')} "
        f"({totals.aborted} aborted)"
    )
    found, unknown = report.count(Verdict.FOUND), report.count(Verdict.UNKNOWN)
    said = counted(found, "finding") if found else "nothing found"
    return f"{looked}: {said}" + (f", {unknown} could not be told" if unknown else "")
