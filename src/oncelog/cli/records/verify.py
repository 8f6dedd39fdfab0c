"""``oncelog verify``: finds what contradicts exactly-once in logs, copies and pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncelog.cli.records.verify_report import ends_with_2_if_unchecked, show
from oncelog.cli.shared.completers import complete_topics
from oncelog.cli.shared.functions import transform_named
from oncelog.cli.shared.options import ConnectionOptions, Seconds, cluster_options, text
from oncelog.cli.shared.output import counted, progress
from oncelog.cli.shared.parameters import CommandGroup
from oncelog.cli.shared.properties import given_properties
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

if TYPE_CHECKING:
    from oncelog.apps.verify.copy.copied_topics import Copy
    from oncelog.apps.verify.findings import Report
    from oncelog.apps.verify.log_topics import LogSelection


@click.group("verify", cls=CommandGroup)
def command() -> None:
    """Check logs, copies and pipelines on your cluster for everything that contradicts exactly-once.

    Exit status 0: nothing was found, 1: something was found, 2: it could not be checked. Works with any Kafka, and
    changes nothing.

    \b
    Example:
      oncelog verify log orders payments
    """


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
    help="Attribute missing offsets to compaction, even if a topic's settings do not say so.",
)
@click.option("--headers-only", is_flag=True, help="Do not decode records: faster, but keys are not compared.")
@click.option("--no-reader", is_flag=True, help="Do not compare with a read_committed reader: no second read.")
@click.option(
    "--transaction-limit",
    type=Seconds(),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="With --log-dir: how long a transaction may be open.",
)
@click.option("--strict", is_flag=True, help="Exit with status 1 also for findings that are unusual but allowed.")
@click.option("--all", "shows_all", is_flag=True, help="Also list findings that are unusual but allowed.")
@cluster_options
@ends_with_2_if_unchecked
def log(
    cluster: ConnectionOptions,
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

    It checks sequences, epochs, transactions and their markers, offsets, checksums, the last stable offset, keys after
    compaction, and the records that a read_committed reader gets. What Kafka allows (a producer that expired,
    compaction, an unclean election that the topic permits) is reported as such. Each finding has a name; they are
    listed in docs/reference/verify.md.

    \b
    Examples:
      oncelog verify log orders payments
      oncelog verify log orders --json
      oncelog verify log --log-dir data
    """
    from oncelog.apps.verify.findings import Report
    from oncelog.apps.verify.log_topics import LogSelection

    report = Report()
    if log_dir is not None:
        _check_folder(report, log_dir, topics, compacted, headers_only, int(transaction_limit * 1000))
    elif not topics:
        raise click.UsageError("name the topics to check, or --log-dir")
    else:
        wanted = LogSelection(decodes=not headers_only, reads=not no_reader, compacted=compacted)
        asyncio.run(_check_topics(report, cluster, topics, wanted))
    totals = report.totals
    looked = (
        f"{counted(totals.partitions, 'partition')}, {counted(totals.records, 'record')}, "
        f"{counted(totals.producers, 'producer')}, {counted(totals.transactions, 'transaction')} "
        f"({totals.aborted} aborted)"
    )
    show(report, looked, as_json=cluster.as_json, strict=strict, shows_all=shows_all)


async def _check_topics(
    report: Report, cluster: ConnectionOptions, topics: tuple[str, ...], wanted: LogSelection
) -> None:
    from oncelog.apps.verify.log_topics import count_offsets, verify_topics
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.client.core.config import ConsumerConfig

    more = {"isolation_level": "read_committed", "auto_offset_reset": "none", "enable_auto_commit": "false"}
    reader = cluster.settings(ConsumerConfig, **more)
    async with Admin(config=cluster.admin_settings()) as admin:
        total = await count_offsets(admin, topics)
        with progress("offsets", total) as advance:
            await verify_topics(admin, reader, topics, wanted, report, advance)


def _check_folder(
    report: Report, folder: Path, topics: tuple[str, ...], compacted: bool, headers_only: bool, limit_ms: int
) -> None:
    from oncelog.apps.verify.expected import Expected
    from oncelog.apps.verify.log_folder import PartitionFolder, partition_folders, verify_folder
    from oncelog.broker.log.file_names import parse_partition_folder
    from oncelog.broker.server.disk.os_disk import OsDisk

    folder = folder.resolve()
    where = parse_partition_folder(folder.name)
    if where is not None and any(folder.glob("*.log")):
        disk = OsDisk(str(folder.parent), read_only=True)
        folders = [PartitionFolder(where, folder.name)]
    else:
        disk = OsDisk(str(folder), read_only=True)
        folders = partition_folders(disk, topics)
    now_ms = real_time.time_ms()
    expected = Expected(compacted=compacted, transaction_limit_ms=limit_ms, now_ms=now_ms)
    total = sum(path.stat().st_size for one in folders for path in (Path(disk.root) / one.path).glob("*.log"))
    with progress("bytes", total) as advance:
        verify_folder(disk, folders, expected, report, decodes=not headers_only, advance=advance)


@command.command("copy")
@click.argument("source", type=text, shell_complete=complete_topics)
@click.argument("dest", type=text)
@click.option("--dest-bootstrap-server", metavar="HOST:PORT", help="The cluster of DEST.  [default: that of SOURCE]")
@click.option(
    "--dest-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A properties file of a client of DEST's cluster.",
)
@click.option(
    "--by",
    default="content",
    show_default=True,
    metavar="WAY",
    help="What makes two records the same: content (key and value), key, header:NAME, mirror:NAME (the offset map of "
    "oncelog mirror), or offsets:PARTITION_HEADER,OFFSET_HEADER (headers of DEST with the place in SOURCE).",
)
@click.option(
    "--transform",
    metavar="MODULE:FUNCTION",
    help="A function that takes a record of SOURCE and returns what DEST should contain for it: None, (key, value), "
    "(key, value, headers) or a list of these.",
)
@click.option("--allow-extra", is_flag=True, help="DEST may have records that are not from SOURCE.")
@click.option("--allow-lag", is_flag=True, help="DEST may end before SOURCE does.")
@click.option(
    "--ignore-content", is_flag=True, help="Records that are the same by --by may differ in key, value and headers."
)
@click.option(
    "--work-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where sorted records are kept, 48 to 88 bytes for each. The same command continues there after an "
    "interruption.  [default: a temporary folder]",
)
@click.option("--strict", is_flag=True, help="Exit with status 1 also for findings that are unusual but allowed.")
@click.option("--all", "shows_all", is_flag=True, help="Also list findings that are unusual but allowed.")
@cluster_options
@ends_with_2_if_unchecked
def copy(
    cluster: ConnectionOptions,
    source: str,
    dest: str,
    dest_bootstrap_server: str | None,
    dest_config: Path | None,
    by: str,
    transform: str | None,
    allow_extra: bool,
    allow_lag: bool,
    ignore_content: bool,
    work_dir: Path | None,
    strict: bool,
    shows_all: bool,
) -> None:
    """Check that each committed record of SOURCE is in DEST once, in its key's order.

    Both topics are read up to their current last stable offsets, sorted on disk and compared: the memory needed does
    not grow with them.

    \b
    Examples:
      oncelog verify copy orders orders-copy
      oncelog verify copy orders invoices --by header:order-id --transform billing:invoice
      oncelog verify copy orders orders --dest-bootstrap-server 127.0.0.1:9192 --by mirror:default
    """
    from oncelog.apps.verify.copy.copied_topics import Copy
    from oncelog.apps.verify.findings import Report

    report = Report()
    function = None if transform is None else transform_named(transform)
    wanted = Copy(source, dest, by, function, transform or "", allow_extra, allow_lag, ignore_content)
    target = cluster
    if dest_bootstrap_server is not None or dest_config is not None:
        own = given_properties(dest_config, ())
        address = {} if dest_bootstrap_server is None else {"bootstrap.servers": dest_bootstrap_server}
        target = ConnectionOptions({**_same_logins(cluster, dest_config), **own, **address}, cluster.as_json)
    asyncio.run(_compare(report, cluster, target, wanted, work_dir))
    totals = report.totals
    looked = f"{counted(totals.records, 'record')} on both sides, {totals.matched} of {source} found in {dest}"
    show(report, looked, as_json=cluster.as_json, strict=strict, shows_all=shows_all)


def _same_logins(cluster: ConnectionOptions, dest_config: Path | None) -> Mapping[str, str]:
    """The source's connection properties, to be used for the destination; empty if the destination has a file of its
    own."""
    return {} if dest_config is not None else dict(cluster.properties)


async def _compare(
    report: Report, source: ConnectionOptions, dest: ConnectionOptions, wanted: Copy, work_dir: Path | None
) -> None:
    from oncelog.apps.verify.copy.copied_topics import count_steps, verify_copy, work_folder
    from oncelog.client.aio.admin.admin import Admin

    with work_folder(work_dir) as folder:
        async with (
            Admin(config=source.admin_settings()) as first,
            Admin(config=dest.admin_settings()) as second,
        ):
            with progress("records", await count_steps(first, second, wanted)) as advance:
                await verify_copy(first, second, wanted, folder, report, advance)


@command.command("pipeline")
@click.argument("checkpoint")
@click.option("--group", default="", help="Group of the marker; without it, the groups that the checkpoint remembers.")
@click.option(
    "--topic",
    "-t",
    "topics",
    multiple=True,
    type=text,
    help="Where the query writes; may be repeated.  [default: the topics of the markers]",
)
@click.option("--strict", is_flag=True, help="Exit with status 1 also for findings that are unusual but allowed.")
@click.option("--all", "shows_all", is_flag=True, help="Also list findings that are unusual but allowed.")
@cluster_options
@ends_with_2_if_unchecked
def pipeline(
    cluster: ConnectionOptions, checkpoint: str, group: str, topics: tuple[str, ...], strict: bool, shows_all: bool
) -> None:
    """Compare plan, marker and records of every batch of a Spark query, as far as they still exist.

    CHECKPOINT is the folder or URL of the query's checkpoint. The destination is read completely.

    \b
    Example:
      oncelog verify pipeline oncelog-checkpoints/late --bootstrap-server 127.0.0.1:9092
    """
    from importlib.util import find_spec

    from oncelog.apps.verify.findings import Report

    if find_spec("pyarrow") is None:
        raise ConfigError("checkpoints are read through pyarrow: install it with pip install 'oncelog[spark]'")
    report = Report()
    asyncio.run(_check_pipeline(report, cluster, checkpoint, group, topics))
    totals = report.totals
    looked = f"{counted(totals.batches, 'batch')} with plan and marker, {counted(totals.records, 'record')}"
    show(report, looked, as_json=cluster.as_json, strict=strict, shows_all=shows_all)


async def _check_pipeline(
    report: Report, cluster: ConnectionOptions, location: str, group: str, topics: tuple[str, ...]
) -> None:
    from oncelog.apps.verify.pipeline import judge, markers_of, written_by
    from oncelog.client.aio.admin.admin import Admin
    from oncelog.spark.sink.checkpoint import Checkpoint
    from oncelog.spark.sink.doctor import groups_of
    from oncelog.types import CONSUMER_OFFSETS_TOPIC

    checkpoint = Checkpoint.open(location)
    checkpoint.query_id()  # raises for an unreadable checkpoint before the cluster is asked
    # read before the log, so that the log already has all records of these batches
    ended = checkpoint.batches("commits")
    async with Admin(config=cluster.admin_settings()) as admin:
        for name in groups_of(checkpoint, group):
            markers = await markers_of(admin, name, report)
            written_to = set(topics) or {one.where.topic for one in markers.seen} - {CONSUMER_OFFSETS_TOPIC}
            producers = {one.producer for one in markers.seen if one.producer[0] >= 0}
            written = await written_by(admin, written_to, producers, report)
            plans = ((number, checkpoint.planned(number)) for number in checkpoint.batches("offsets"))
            planned = {number: plan for number, plan in plans if plan is not None}
            judge(planned, ended, markers, written, report)
