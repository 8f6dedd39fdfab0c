"""``oncelog mirror``: copies topics of one cluster to another while records are written, each transaction completely or
not at all."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oncelog.apps.mirror.settings import INTERVAL_MS, MAX_BYTES, MIB, MirrorSettings
from oncelog.cli.shared.options import DEFAULT_ADDRESS, ConnectionOptions, text
from oncelog.cli.shared.output import Advance, counted, progress, remark, show_json
from oncelog.cli.shared.properties import given_properties
from oncelog.cli.shared.wait_messages import waits_reported
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time

if TYPE_CHECKING:
    from oncelog.apps.mirror.run import Mirror
    from oncelog.apps.mirror.settings import MirrorProgress

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,100}")


@click.command("mirror")
@click.option("--from", "source", metavar="HOST:PORT", help=f"The cluster to read.  [default: {DEFAULT_ADDRESS}]")
@click.option("--to", "target", metavar="HOST:PORT", help="The cluster to write.")
@click.option(
    "--from-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A properties file of a client of the source.",
)
@click.option(
    "--to-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A properties file of a client of the target.",
)
@click.option(
    "--name",
    default="default",
    show_default=True,
    help="Distinguishes mirrors of one target. Only one mirror of a name runs at a time.",
)
@click.option(
    "--topic", "-t", "topics", multiple=True, type=text, help="Mirror this topic; may be repeated.  [default: all]"
)
@click.option(
    "--topics-matching",
    metavar="REGEX",
    help="Also every topic whose whole name matches, including topics created later.",
)
@click.option("--exclude", multiple=True, metavar="REGEX", help="Do not mirror this topic; may be repeated.")
@click.option("--once", is_flag=True, help="Stop when everything that was decided at the start is on the target.")
@click.option("--switch-over", is_flag=True, help="Stop, with status 0, when the target has everything.")
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1),
    default=MAX_BYTES,
    show_default=True,
    help="About this many bytes in one transaction; a transaction of the source is never split.",
)
@click.option(
    "--interval-ms", type=click.IntRange(min=1), default=INTERVAL_MS, show_default=True, help="Between two rounds."
)
@click.option(
    "--transaction-timeout-ms",
    type=click.IntRange(min=1, max=2**31 - 1),
    help="Timeout of a round's transaction.  [default: 900000 or what the target allows]",
)
@click.option("--into-existing", is_flag=True, help="Mirror into topics of the target that already hold other records.")
@click.option(
    "--allow-loss", is_flag=True, help="Continue even if retention has removed records before they were mirrored."
)
@click.option(
    "--json", "-J", "as_json", is_flag=True, help="Write one line of JSON for each round that copied something."
)
def command(
    source: str | None,
    target: str | None,
    from_config: Path | None,
    to_config: Path | None,
    name: str,
    topics: tuple[str, ...],
    topics_matching: str | None,
    exclude: tuple[str, ...],
    once: bool,
    switch_over: bool,
    max_bytes: int,
    interval_ms: int,
    transaction_timeout_ms: int | None,
    into_existing: bool,
    allow_loss: bool,
    as_json: bool,
) -> None:
    """Mirror topics of one cluster to another, live: oncelog, Apache Kafka or a managed one, in any direction.

    Partitions, order, keys, headers and timestamps are kept. A reader of read_committed on the target sees a
    transaction of the source whole or not at all. Groups' offsets are translated exactly and set on the target as long
    as the group is not active there. Killed at any point, the same command continues where the last transaction ended.

    Before a switch-over stop the producers of the source, or revoke their rights: --switch-over waits until their
    records are copied, not until they stop. With --once and --switch-over the exit status is 130 if the command was
    interrupted before everything was copied.

    \b
    Examples:
      oncelog mirror --from 127.0.0.1:9092 --to 127.0.0.1:9192
      oncelog mirror --from 127.0.0.1:9092 --to 127.0.0.1:9192 --topics-matching 'orders.*' --exclude '.*-tmp'
      oncelog mirror --from 127.0.0.1:9092 --to 127.0.0.1:9192 --switch-over --json
    """
    from oncelog.apps.mirror.mirrored_topics import Selection

    if once and switch_over:
        raise ConfigError("--once and --switch-over exclude each other: each says when to stop")
    if not _NAME.fullmatch(name):
        raise ConfigError(f"--name takes 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-', not {name!r}")
    selection = Selection(topics, topics_matching, exclude)
    selection.check()
    settings = MirrorSettings(
        name, selection, max_bytes, transaction_timeout_ms, interval_ms / 1000, allow_loss, into_existing
    )
    clusters = _cluster("--from", source, from_config), _cluster("--to", target, to_config)
    with waits_reported():
        asyncio.run(_run(clusters, settings, once=once, switch_over=switch_over, as_json=as_json))


def _cluster(option: str, address: str | None, config: Path | None) -> ConnectionOptions:
    properties = given_properties(config, ())
    if address is not None:
        properties["bootstrap.servers"] = address
    if option == "--from":
        properties.setdefault("bootstrap.servers", os.environ.get("ONCELOG_BOOTSTRAP_SERVER") or DEFAULT_ADDRESS)
    if "bootstrap.servers" not in properties:
        raise ConfigError("--to HOST:PORT is needed, or bootstrap.servers in --to-config: the cluster to write")
    return ConnectionOptions(properties, False)


async def _run(
    clusters: tuple[ConnectionOptions, ConnectionOptions],
    settings: MirrorSettings,
    *,
    once: bool,
    switch_over: bool,
    as_json: bool,
) -> None:
    from oncelog.apps.mirror.run import Mirror
    from oncelog.client.aio.admin.admin import Admin

    source, target = clusters
    async with Admin(config=source.admin_settings()) as reading, Admin(config=target.admin_settings()) as writing:
        mirror = Mirror(reading, writing, settings, remark)
        with _stop_asked() as stop, progress("mirroring") as advance:
            try:
                await mirror.open()
                if once or switch_over:
                    mirror.check_complete()
                done = await _rounds(
                    mirror, settings, stop, advance, once=once, switch_over=switch_over, as_json=as_json
                )
                await mirror.close()
            except BaseException:
                await mirror.give_up()
                raise
    _say_end(done, once=once, switch_over=switch_over)


def _say_end(done: bool, *, once: bool, switch_over: bool) -> None:
    """Report how the mirror ended.

    :raises click.Abort: it was stopped before it had reached what --once or --switch-over waits for.
    """
    if switch_over and done:
        remark("the target has everything: start producers and consumers there")
    elif not done:
        remark("stopped; the same command continues from here")
        if once or switch_over:
            raise click.Abort


@contextmanager
def _stop_asked() -> Iterator[asyncio.Event]:
    """A context with an event that Ctrl-C or SIGTERM sets, so that the mirror ends after the round; a second signal
    interrupts the round."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    task = asyncio.current_task()

    def ask() -> None:
        if stop.is_set() and task is not None:
            task.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
    try:
        yield stop
    except asyncio.CancelledError:
        raise click.Abort from None
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _rounds(
    mirror: Mirror,
    settings: MirrorSettings,
    stop: asyncio.Event,
    advance: Advance,
    *,
    once: bool,
    switch_over: bool,
    as_json: bool,
) -> bool:
    """Run rounds until what --once or --switch-over waits for is reached (returns True), or until a stop is requested
    (returns False)."""
    goal = await mirror.stable_ends() if once else None
    records = size_bytes = 0
    while not stop.is_set():
        latest = await mirror.round()
        records += latest.records
        size_bytes += latest.size_bytes
        advance(latest.records, f"{counted(records, 'record')}, {size_bytes / MIB:.1f} MiB, lag {latest.total_lag}")
        reached = (goal is not None and mirror.has_reached(goal)) or (switch_over and latest.caught_up)
        if reached:
            mirror.check_complete()
        if as_json and (latest.records or latest.groups or reached):
            show_json(_as_json(latest, records))
        if reached:
            if not as_json:
                remark(f"mirrored {counted(records, 'record')}, {size_bytes / MIB:.1f} MiB")
            return True
        if not latest.records:
            waits_for = mirror.held_back_by(real_time.monotonic()) if once or switch_over else None
            if waits_for is not None:
                remark(waits_for)
            try:
                await asyncio.wait_for(stop.wait(), settings.interval_s)
            except TimeoutError:
                continue
    return False


def _as_json(latest: MirrorProgress, records: int) -> dict[str, object]:
    return {
        "records": latest.records,
        "bytes": latest.size_bytes,
        "groups": latest.groups,
        "records_in_all": records,
        "lag": dict(latest.lag),
        "total_lag": latest.total_lag,
        "caught_up": latest.caught_up,
    }
