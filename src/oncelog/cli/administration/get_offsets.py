"""``oncelog get-offsets``: shows the offsets of partitions at their ends, or at a time."""

from __future__ import annotations

import click

from oncelog.cli.shared.completers import complete_topics
from oncelog.cli.shared.options import ConnectionOptions, cluster_options, led, partition_numbers, text
from oncelog.cli.shared.output import show_rows
from oncelog.client.positions import EARLIEST, LATEST, parse_time
from oncelog.errors import OncelogError
from oncelog.types import TopicPartition

WORDS = {"earliest": EARLIEST, "latest": LATEST, "max-timestamp": -3}
NUMBERS = {str(number): number for number in WORDS.values()}
"""The times that kafka-get-offsets accepts by name."""


@click.command("get-offsets")
@click.option(
    "--topic", "-t", "topics", multiple=True, metavar="TOPIC[:0,1]", type=text, shell_complete=complete_topics,
    help="Topic, or some partitions of it; default: every topic.",
)  # fmt: skip
@click.option(
    "--time", "at", default="latest", metavar="TIME",
    help="earliest, latest, max-timestamp, or a time: the first record at or after it.  [default: latest]",
)  # fmt: skip
@click.option(
    "--read-committed", is_flag=True, help="With read_committed, the latest offset is the last stable offset."
)
@cluster_options
def command(cluster: ConnectionOptions, topics: tuple[str, ...], at: str, read_committed: bool) -> None:
    """Show the offset of each partition at its end, its beginning, or a time.

    \b
    Examples:
      oncelog get-offsets -t orders
      oncelog get-offsets -t orders:0 --time 2026-01-31T12:00
    """
    known = WORDS | NUMBERS
    time_ms = known[at] if at in known else parse_time(f"--time takes {', '.join(WORDS)}; else it", at)
    with cluster.admin() as admin:
        names = [
            name
            for topic, numbers in partition_numbers(topics or tuple(admin.list_topics())).items()
            for name in (
                admin.partitions(topic) if numbers is None else [TopicPartition(topic, number) for number in numbers]
            )
        ]
        names, missing = led(admin, names)
        found = admin.list_offsets(dict.fromkeys(names, time_ms), read_committed=read_committed) if names else {}
    rows = [
        {
            "topic": name.topic,
            "partition": name.partition,
            "offset": found[name].offset if found[name].offset >= 0 else None,
        }
        for name in sorted(found)
    ]
    show_rows(cluster.as_json, rows, ["topic", "partition", "offset"], "no offsets" if missing else "no topics")
    if missing:
        raise OncelogError(missing)
