"""``oncelog delete-records``: deletes the oldest records of partitions."""

from __future__ import annotations

import click

from oncelog.cli.shared.completers import complete_topics
from oncelog.cli.shared.options import ConnectionOptions, cluster_options, partition_numbers, text
from oncelog.cli.shared.output import show_rows
from oncelog.errors import ConfigError, Error, KafkaError, OncelogError
from oncelog.types import TopicPartition

ALL = -1
"""The number that stands for the high watermark in a DeleteRecords request."""
ENDS = ("end", str(ALL))
NEXT_STEPS = {
    Error.OFFSET_OUT_OF_RANGE: "--before end deletes all there are",
    Error.POLICY_VIOLATION: "oncelog topics alter --set-config cleanup.policy=compact,delete changes that",
}


@click.command("delete-records")
@click.option(
    "--topic", "-t", "topics", multiple=True, required=True, metavar="TOPIC[:0,1]", type=text,
    shell_complete=complete_topics, help="Topic, or some partitions of it; may be repeated.",
)  # fmt: skip
@click.option("--before", required=True, metavar="N", help="The first offset that is kept, or end to keep none.")
@cluster_options
def command(cluster: ConnectionOptions, topics: tuple[str, ...], before: str) -> None:
    """Permanently delete the records before an offset.

    \b
    Examples:
      oncelog delete-records -t orders:0 --before 1000
      oncelog delete-records -t orders --before end
    """
    if before not in ENDS and not before.isdecimal():
        raise ConfigError(f"--before takes an offset or end, not {before!r}")
    offset = ALL if before in ENDS else int(before)
    with cluster.admin() as admin:
        names = [
            name
            for topic, numbers in partition_numbers(topics).items()
            for name in (
                admin.partitions(topic) if numbers is None else [TopicPartition(topic, number) for number in numbers]
            )
        ]
        try:
            first = admin.delete_records(dict.fromkeys(names, offset))
        except KafkaError as error:
            step = NEXT_STEPS.get(error.error)
            if step is None:
                raise
            raise OncelogError(f"{error}; {step}") from error
    rows = [
        {"topic": name.topic, "partition": name.partition, "log_start_offset": first[name]} for name in sorted(first)
    ]
    show_rows(cluster.as_json, rows, ["topic", "partition", "log_start_offset"], "nothing to delete")
