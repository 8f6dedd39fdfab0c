"""Writes a batch of a pipeline that has tables among its sinks: one sink after the other, each exactly once.

Called by :mod:`oncelog.spark.pipeline.running`. The sinks do not become visible at the same instant: the pipeline's
option ``order`` defines what a reader of one sink can expect of the others. After a crash between two sinks, the next
run repeats the batch, and skips the sinks that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from oncelog.spark.executors.write import Written
from oncelog.spark.pipeline.definition import ONLY, TABLES_FIRST, TOPICS, Pipeline
from oncelog.spark.pipeline.rows import rows_for
from oncelog.spark.session import for_each_batch
from oncelog.spark.sink.engine import Observer
from oncelog.spark.tables.sink import to_table_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class _Part(NamedTuple):
    """The write of one sink. Its number is that in the column that assigns rows to sinks; None if the sink gets all
    rows.
    """

    write: Callable[[DataFrame, int], None]
    number: int | None


def several_sinks(
    one: Pipeline, topic_options: Mapping[str, str], on_written: Callable[[Written], None], observe: Observer
) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch`` that writes the rows of :func:`oncelog.spark.pipeline.rows.rows_of`.

    :param on_written: called once for each batch, with the sum over its sinks.
    """
    done: list[Written] = []
    tables = [
        to_table_of(
            sink.parsed(one.mode),
            name="" if name == ONLY else name,
            on_written=done.append,
            observe=observe,
            beside=one.table_sinks.keys() - {name},
        )
        for name, sink in one.table_sinks.items()
    ]
    if not one.writes_topics and len(tables) == 1:
        parts = [_Part(tables[0], None)]
    else:
        topics = (
            [for_each_batch(topic_options, name=TOPICS, on_written=done.append, observe=observe)]
            if one.writes_topics
            else []
        )
        parts = [_Part(write, number) for number, write in enumerate([*topics, *tables])]
        if topics and one.order == TABLES_FIRST:
            parts = [*parts[1:], parts[0]]

    def write(rows: DataFrame, batch_id: int) -> None:
        done.clear()
        shared = len(parts) > 1
        kept = rows.persist() if shared else rows  # the rows are computed once, so that all sinks get the same rows
        try:
            for part in parts:
                part.write(kept if part.number is None else rows_for(kept, part.number), batch_id)
        finally:
            if shared:
                kept.unpersist()
        on_written(_sum(done))

    return write


def _sum(done: list[Written]) -> Written:
    """The sum over the writes of a batch to all of its sinks, in the form of a write to a single sink."""
    paths = {written.path for written in done}
    return replace(
        done[0],
        path=next(path for path in ("executors", "driver", "none") if path in paths),
        writers=max(written.writers for written in done),
        rows=sum(written.rows for written in done),
        size_bytes=sum(written.size_bytes for written in done),
        seconds=sum(written.seconds for written in done),
        sinks={sink: rows for written in done for sink, rows in written.sinks.items()},
    )
