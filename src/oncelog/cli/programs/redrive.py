"""``oncelog redrive``: sends dead letters back to the topics that they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from oncelog.cli.shared.completers import complete_topics
from oncelog.cli.shared.functions import transform_named
from oncelog.cli.shared.options import ConnectionOptions, cluster_options, text
from oncelog.cli.shared.output import counted, progress, remark, show_json
from oncelog.errors import ConfigError
from oncelog.runtime import real_asyncio as asyncio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oncelog.apps.redrive.dead_letters import Plan
    from oncelog.apps.redrive.redriving import Decided, Redrive


@click.command("redrive")
@click.argument("topic", type=text, shell_complete=complete_topics)
@click.option(
    "--to", type=text, shell_complete=complete_topics, metavar="TOPIC",
    help="Send to this topic, where the key chooses the partition.  [default: the original topic and partition]",
)  # fmt: skip
@click.option(
    "--name", default="default", show_default=True,
    help="Under each name a dead letter is sent once; only one redrive of a name runs at a time.",
)  # fmt: skip
@click.option(
    "--where", multiple=True, metavar="HEADER=VALUE",
    help="Only dead letters with this header; if repeated, all must match.",
)  # fmt: skip
@click.option("--error", metavar="TEXT", help="Only dead letters whose error contains this text.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N dead letters that were sent or parked."
)
@click.option(
    "--max-attempts", type=click.IntRange(min=1), metavar="N",
    help="A dead letter that was sent back N times goes to --parking.",
)  # fmt: skip
@click.option(
    "--parking",
    type=text,
    shell_complete=complete_topics,
    metavar="TOPIC",
    help="Where dead letters go after --max-attempts.",
)
@click.option(
    "--transform", metavar="MODULE:FUNCTION",
    help="A Python function that takes each dead letter and returns the one to send, or None to skip it.",
)  # fmt: skip
@click.option(
    "--transaction-size", type=click.IntRange(min=1), default=500, show_default=True, metavar="N",
    help="Maximum number of dead letters in one transaction.",
)  # fmt: skip
@click.option(
    "--first-run", is_flag=True,
    help="State that no redrive of this name has run; needed for dead letters older than offsets.retention.minutes.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would happen to each dead letter, and write nothing.")
@cluster_options
def command(
    cluster: ConnectionOptions,
    topic: str,
    to: str | None,
    name: str,
    where: tuple[str, ...],
    error: str | None,
    limit: int | None,
    max_attempts: int | None,
    parking: str | None,
    transform: str | None,
    transaction_size: int,
    first_run: bool,
    dry_run: bool,
) -> None:
    """Send the dead letters of TOPIC back to where they came from, each once.

    It sends the dead letters that exist when it starts, and restores topic, partition, key and headers as pipelines
    have recorded them. The header oncelog.attempts counts the attempts. One transaction commits the dead letters sent
    and the position: after a kill at any point, the same command continues. It works on Apache Kafka too.

    Dead letters that --where and --error do not select are skipped: repeat the command with the same options, or use
    another --name with others. If --transform raises an exception, nothing of the transaction is sent.

    With --json, it prints totals after each transaction and at the end; with --dry-run, a line for each dead letter.

    \b
    Examples:
      oncelog redrive orders-dead --dry-run
      oncelog redrive orders-dead --error 'no JSON' --limit 10
      oncelog redrive orders-dead --transform repairs:add_currency --max-attempts 3 --parking orders-parked
    """
    from oncelog.apps.redrive.dead_letters import NAME, Plan

    if (max_attempts is None) != (parking is None):
        raise ConfigError(
            "--max-attempts and --parking need each other: the number of attempts, and the topic after them"
        )
    if topic in (to, parking):
        raise ConfigError(f"--to and --parking name other topics than the dead letters' own, {topic}")
    if not NAME.fullmatch(name):
        raise ConfigError(f"--name takes 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-', not {name!r}")
    function = None if transform is None else transform_named(transform)
    plan = Plan(to, _headers(where), error, max_attempts, parking or "", function)
    asyncio.run(_run(cluster, topic, name, plan, transaction_size, limit, first_run=first_run, dry_run=dry_run))


def _headers(given: Iterable[str]) -> tuple[tuple[str, bytes], ...]:
    found = []
    for one in given:
        header, separator, value = one.partition("=")
        if not header or not separator:
            raise ConfigError(f"--where takes HEADER=VALUE, not {one!r}")
        found.append((header, value.encode("utf-8", "surrogateescape")))
    return tuple(found)


async def _run(
    cluster: ConnectionOptions,
    topic: str,
    name: str,
    plan: Plan,
    transaction_size: int,
    limit: int | None,
    *,
    first_run: bool,
    dry_run: bool,
) -> None:
    from oncelog.apps.redrive.redriving import group_of, opened
    from oncelog.client.aio import Admin
    from oncelog.client.core.config import ConsumerConfig, ProducerConfig, known_properties

    reads, writes = known_properties(ConsumerConfig), known_properties(ProducerConfig)
    given = {key: value for key, value in cluster.properties.items() if key in reads and key != "group.id"}
    reading = ConsumerConfig.from_properties(given)
    for_producer = {key: value for key, value in cluster.properties.items() if key in writes or key not in reads}
    group = group_of(topic, name)
    writing = None if dry_run else ProducerConfig.from_properties({**for_producer, "transactional.id": group})
    async with (
        Admin(config=cluster.admin_settings()) as admin,
        opened(
            admin,
            reading,
            writing,
            topic,
            group,
            plan,
            transaction_size=transaction_size,
            limit=limit,
            first_run=first_run,
        ) as redrive,
    ):
        await _rounds(redrive, as_json=cluster.as_json, dry_run=dry_run)


async def _rounds(redrive: Redrive, *, as_json: bool, dry_run: bool) -> None:
    with progress("sending back", redrive.left) as advance:
        before = redrive.left
        while (decided := await redrive.round()) is not None:
            advance(before - redrive.left, _summary(redrive, dry_run=dry_run))
            before = redrive.left
            if dry_run:
                for one in decided:
                    _show(one, as_json=as_json)
            elif as_json:
                show_json(_totals(redrive))
    if as_json and not dry_run:
        show_json(_totals(redrive))
    elif not as_json:
        remark(_summary(redrive, dry_run=dry_run) + ("; nothing was written" if dry_run else ""))


def _show(one: Decided, *, as_json: bool) -> None:
    """Show what a dry run would do with one dead letter."""
    from oncelog.apps.redrive.dead_letters import origin_error

    record, dead_letter, error = one.record, one.dead_letter, origin_error(one.record)
    where = (
        ""
        if dead_letter is None
        else dead_letter.topic + ("" if dead_letter.partition is None else f"-{dead_letter.partition}")
    )
    place = f"{record.topic}-{record.partition}:{record.offset}"
    if as_json:
        show_json({"dead_letter": place, "outcome": one.outcome.value, "to": where or None, "error": error})
    else:
        click.echo("\t".join((place, one.outcome.value, where or "-", error)))


def _totals(redrive: Redrive) -> dict[str, int]:
    from oncelog.apps.redrive.dead_letters import DeadLetterOutcome

    return {
        **{outcome.value: redrive.counts[outcome] for outcome in DeadLetterOutcome},
        "deleted": redrive.deleted,
        "left": redrive.left,
    }


def _summary(redrive: Redrive, *, dry_run: bool) -> str:
    from oncelog.apps.redrive.dead_letters import DeadLetterOutcome

    counts = redrive.counts
    words = {
        DeadLetterOutcome.PARKED: "parked",
        DeadLetterOutcome.SKIPPED: "skipped",
        DeadLetterOutcome.PASSED: "passed over",
    }
    parts = [f"{counted(counts[DeadLetterOutcome.SENT], 'dead letter')} {'would be ' if dry_run else ''}sent back"]
    parts += [f"{counts[outcome]} {word}" for outcome, word in words.items() if counts[outcome]]
    if redrive.deleted:
        parts.append(f"{counted(redrive.deleted, 'offset')} deleted unread, before this redrive")
    return ", ".join(parts)
