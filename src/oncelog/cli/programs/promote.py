"""``oncelog promote``: turns a data folder into the storage of an Apache Kafka node."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from oncelog.apps.promote.folders import SERVER_PROPERTIES, finish_move
from oncelog.apps.promote.kraft import METADATA_VERSIONS, NEWEST
from oncelog.apps.promote.plan import Addresses, Mode, PromotionPlan, planned
from oncelog.apps.promote.promote_errors import PromotionError
from oncelog.apps.promote.promotion import promote
from oncelog.apps.promote.unfinished_transactions import UnfinishedTransaction
from oncelog.broker.server.listener_settings import Address
from oncelog.cli.shared.output import counted, progress, remark, show_json
from oncelog.cli.shared.parameters import PropertiesFile
from oncelog.cli.shared.properties import given_properties
from oncelog.runtime import real_time
from oncelog.runtime.shown import show_time

MIB = 1024 * 1024
_DELETED = re.compile(r".+\.[0-9a-f]{32}-delete")
"""The name of a deleted partition's folder, which exists until its files are removed."""


@click.command("promote")
@click.argument("data", type=click.Path(file_okay=False, path_type=Path))
@click.option("--to", "target", required=True, type=click.Path(path_type=Path), help="The folder of the Kafka node.")
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Where the node will serve clients, or as in listeners.  [default: listeners of --config, or 127.0.0.1:9092]",
)
@click.option(
    "--controller", default="127.0.0.1:9093", metavar="HOST:PORT", show_default=True, help="Its controller's address."
)
@click.option(
    "--internal",
    default="127.0.0.1:9094",
    metavar="HOST:PORT",
    show_default=True,
    help="Where the node talks to itself and to later nodes, if clients log in or there are ACLs.",
)
@click.option(
    "--config",
    "-F",
    type=PropertiesFile(),
    help="The properties file that was given to oncelog serve.",
)
@click.option(
    "--set",
    "-X",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A property that was given to oncelog serve.",
)
@click.option(
    "--for",
    "release",
    type=click.Choice(list(METADATA_VERSIONS)),
    default=NEWEST,
    show_default=True,
    help="The lowest release of Apache Kafka that the node will run.",
)
@click.option("--copy", "mode", flag_value="copy", help="Copy every file, including closed segments.")
@click.option("--move", "mode", flag_value="move", help="Remove the data folder once the node's folder is complete.")
@click.option("--plain", is_flag=True, help="Do not take over settings of TLS, SASL and the authorizer.")
@click.option("--dry-run", is_flag=True, help="Print what would be done, and what Kafka will do as soon as it starts.")
@click.option(
    "--kafka",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="KAFKA_HOME",
    help="Apache Kafka's folder: its own dump tool then reads the snapshot too. Default: KAFKA_HOME.",
)
@click.option("--json", "-J", "as_json", is_flag=True, help="Print the plan as JSON.")
def command(
    data: Path,
    target: Path,
    listen: str | None,
    controller: str,
    internal: str,
    config: Path | None,
    assignments: tuple[str, ...],
    release: str,
    mode: Mode | None,
    plain: bool,
    dry_run: bool,
    kafka: Path | None,
    as_json: bool,
) -> None:
    """Turn a data folder into the storage of an Apache Kafka 4 node, without losing anything.

    Offsets, producer ids, open transactions, groups, settings and credentials are taken over. The broker must be
    stopped. The data folder stays as it is, byte for byte, unless --move is given; closed segments are shared as hard
    links unless --copy is given.

    \b
    Examples:
      oncelog promote ./data --to ./kafka --dry-run
      oncelog promote ./data --to ./kafka --listen 10.0.0.5:9092 --controller 10.0.0.5:9093
      oncelog promote ./data --to ./kafka --config server.properties
    """
    if mode == "move" and not dry_run and finish_move(data, target):
        if as_json:
            show_json({"done": True, "target": str(target.resolve())})
        remark(f"the interrupted removal of {data} is now finished; {target} is complete")
        return
    settings = given_properties(config, assignments)
    now_ms = real_time.time_ms()
    how: Mode = mode or "link"
    with planned(
        data,
        target,
        addresses=Addresses(listen, Address.parse(controller), Address.parse(internal)),
        settings=settings,
        mode=how,
        now_ms=now_ms,
        plain=plain,
        metadata_version=METADATA_VERSIONS[release],
    ) as plan:
        if not dry_run:
            with progress("promoting", sum(item.size_bytes for item in plan.items)) as advance:
                plan = promote(plan, how, advance)
    checked = None if dry_run or kafka is None else check_with_kafka(plan, kafka)
    if as_json:
        show_json(_as_json(plan, now_ms, done=not dry_run, checked=checked))
        return
    _show(plan, now_ms, done=not dry_run)
    if not dry_run:
        _show_next_steps(plan, release, checked)


def check_with_kafka(plan: PromotionPlan, kafka: Path) -> int:
    """Check that Kafka's own dump tool reads every record of the snapshot; returns their number.

    :raises PromotionError: the tool cannot be run, or reads other records than were written.
    """
    from oncelog.spark.java import find_java

    libraries = kafka / "libs" if (kafka / "libs").is_dir() else kafka
    snapshot = plan.target / "__cluster_metadata-0" / plan.snapshot.name
    ran = subprocess.run(
        [
            *(find_java(), "-cp", f"{libraries}/*", "org.apache.kafka.tools.DumpLogSegments"),
            *("--cluster-metadata-decoder", "--skip-record-metadata", "--files", str(snapshot)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    read = len(re.findall(r'"type":"[A-Z_]+_RECORD"', ran.stdout))
    if ran.returncode != 0 or read != len(plan.snapshot.records):
        raise PromotionError(
            f"Kafka's dump tool in {kafka} read {read} of {len(plan.snapshot.records)} records of {snapshot}; "
            f"do not start Kafka on {plan.target}: {(ran.stderr or ran.stdout).strip()[-300:]}"
        )
    return read


def _show(plan: PromotionPlan, now_ms: int, *, done: bool) -> None:
    verb = "is" if done else "would be"
    click.echo(
        f"{plan.target} {verb} the storage of node {plan.identity.node_id} of cluster {plan.identity.cluster_id}: "
        f"{plan.topics} topics, {plan.partitions} partitions, next producer id {plan.next_producer_id}"
    )
    click.echo(f"linked {plan.linked_bytes / MIB:.1f} MiB of closed segments, copied {plan.copied_bytes / MIB:.1f} MiB")
    clients = ", ".join(f"{item.name}://{item.address} ({item.protocol.value})" for item in plan.listeners.clients)
    click.echo(f"clients connect to {clients}")
    if plan.listeners.user:
        click.echo(f"the node logs in to itself as User:{plan.listeners.user}; {SERVER_PROPERTIES} holds its password")
    if not plan.clean and not plan.decided_transactions:
        click.echo(
            "the broker was not stopped cleanly: Kafka recovers the segments when it starts, as after its own crash"
        )
    for setting in plan.dropped_settings:
        click.echo(f"setting not taken over: {setting}")
    for text in not_taken_over(plan.left_behind):
        click.echo(f"not taken over: {text}")
    for transaction in plan.decided_transactions:
        click.echo(f"decided transaction: {_begun(transaction)}: {verb} completed in the target, with its markers")
    for transaction in plan.open_transactions:
        click.echo(f"open transaction: {_outcome(transaction, now_ms)}")


def not_taken_over(names: Sequence[str]) -> list[str]:
    """The names of the data in the data folder that is not in the target; partitions of deleted topics are only
    counted."""
    deleted = [name for name in names if _DELETED.fullmatch(name)]
    kept = [name for name in names if not _DELETED.fullmatch(name)]
    return kept + ([f"{counted(len(deleted), 'partition')} of deleted topics"] if deleted else [])


def _begun(transaction: UnfinishedTransaction) -> str:
    return f"{transaction.transactional_id}, {transaction.state} since {show_time(transaction.started_ms)}"


def _outcome(transaction: UnfinishedTransaction, now_ms: int) -> str:
    began = _begun(transaction)
    if transaction.two_phase_commit:
        token = f"{transaction.producer_id}:{transaction.producer_epoch}"
        return (
            f"{began}, token {token}: Kafka keeps it, and up to 4.4 no later producer can end it there; "
            "complete it before (oncelog transactions complete)"
        )
    if transaction.times_out(now_ms):
        return f"{began}: past its timeout of {transaction.timeout_ms} ms, Kafka aborts it when it starts"
    left_ms = transaction.started_ms + transaction.timeout_ms - now_ms
    return f"{began}: its producer may continue it for {left_ms} ms more"


def _show_next_steps(plan: PromotionPlan, release: str, checked: int | None) -> None:
    if checked is None:
        remark("the snapshot was read back; --kafka FOLDER has Kafka's own dump tool read it too")
    else:
        click.echo(f"Kafka's dump tool read all {checked} records of the snapshot")
    for note in plan.listeners.notes:
        click.echo(note)
    click.echo(
        f"start it, with Apache Kafka {release} or newer: kafka-server-start.sh {plan.target / SERVER_PROPERTIES}"
    )


def _as_json(plan: PromotionPlan, now_ms: int, *, done: bool, checked: int | None) -> Mapping[str, Any]:
    return {
        "done": done,
        "target": str(plan.target),
        "cluster_id": plan.identity.cluster_id,
        "node_id": plan.identity.node_id,
        "topics": plan.topics,
        "partitions": plan.partitions,
        "next_producer_id": plan.next_producer_id,
        "linked_bytes": plan.linked_bytes,
        "copied_bytes": plan.copied_bytes,
        "clean_shutdown": plan.clean,
        "dropped_settings": list(plan.dropped_settings),
        "left_behind": list(plan.left_behind),
        "open_transactions": [
            {
                **transaction._asdict(),
                "two_phase_commit": transaction.two_phase_commit,
                "aborted_at_start": transaction.times_out(now_ms),
            }
            for transaction in plan.open_transactions
        ],
        "decided_transactions": [transaction._asdict() for transaction in plan.decided_transactions],
        "snapshot": plan.snapshot.name,
        "records": len(plan.snapshot.records),
        "records_read_by_kafka": checked,
        "node_user": plan.listeners.user or None,
        "notes": list(plan.listeners.notes),
        "properties": {name: None if name in plan.secrets else value for name, value in plan.properties.items()},
    }
