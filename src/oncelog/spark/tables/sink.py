"""``to_table``: writes the micro-batches of a query into a table, each exactly once.

Called by users and by pipelines' runs, in ``foreachBatch``.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError
from oncelog.runtime import real_time
from oncelog.runtime.chance import random
from oncelog.spark.executors.write import Written
from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.micro_batches import query_sinks, running_query, said_first
from oncelog.spark.options import OptionValue, option_texts
from oncelog.spark.sink.checkpoint import plan_of
from oncelog.spark.sink.engine import BatchOutcome, Observer, ignore
from oncelog.spark.sink.marker import BatchPlan, OffsetLogEntry, last_write_key
from oncelog.spark.sink.planning import checkpoint_at, now_ms
from oncelog.spark.tables.columns import escaped, prepared
from oncelog.spark.tables.commit import TableBatch, write_batch
from oncelog.spark.tables.latest import latest
from oncelog.spark.tables.names import BatchNames, check_partitions, named_rows
from oncelog.spark.tables.options import TableFormat, TableOptions, parse_table_options
from oncelog.spark.tables.store import MaintainedTable, TableLook, TableStore, WrittenPart, table_group
from oncelog.spark.tables.tasks import write_parts
from oncelog.spark.versions import is_connect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)


def to_table(
    options: Mapping[str, OptionValue],
    *,
    name: str = "",
    on_written: Callable[[Written], None] | None = None,
    observe: Observer = ignore,
) -> Callable[[DataFrame, int], None]:
    """A function for ``writeStream.foreachBatch`` that writes each micro-batch into a table exactly once.

    ``df.writeStream.foreachBatch(to_table({"format": "delta", "table": "lake/flights"}))``. The identity of each batch
    is in the commit of its rows, and has the same function as the marker in a topic: a batch that the table already has
    is skipped, and a checkpoint that is older than the table is refused. A Delta or Iceberg table that cannot be
    written is refused here, before the query starts.

    :param name: distinguishes several sinks of one query that write the same table; it must stay the same over
        restarts.
    :param on_written: called with how each batch was written.
    :param observe: called at each step, on the driver.
    """
    parsed = parse_table_options(option_texts(options, "to_table"))
    store = open_store(parsed)
    store.check()
    if parsed.partition_by and (layout := store.layout()) is not None:
        check_partitions(parsed, layout)
    return to_table_of(parsed, name=name, on_written=on_written, observe=observe)


def to_table_of(
    parsed: TableOptions,
    *,
    name: str,
    on_written: Callable[[Written], None] | None,
    observe: Observer,
    beside: Collection[str] = (),
) -> Callable[[DataFrame, int], None]:
    """Like :func:`to_table`, with parsed options.

    :param beside: names of the query's other table sinks, if they are known.
    """
    store = open_store(parsed)
    made_ms = now_ms()

    def on_micro_batch(rows: DataFrame, batch_id: int) -> None:
        if is_connect():
            raise ConfigError(
                "to_table needs a driver of its own, and this session is one of Spark Connect: start the query in a "
                "session of its own"
            )
        run = running_query(rows, batch_id, parsed.checkpoint_location)
        with contextlib.ExitStack() as writing:
            written = write_table_batch(
                rows,
                batch_id,
                run.checkpoint,
                parsed,
                name,
                store,
                observe,
                _Run(run.run_id, batch_id, name, beside, writing, run.check_plan),
            )
        if on_written is not None:
            planned = checkpoint_at(run.checkpoint).planned(batch_id)
            on_written(replace(written, replayed=planned is not None and planned.planned_at_ms < made_ms))

    return said_first(on_micro_batch)


def _pause(attempt: int) -> None:
    """Wait before another attempt: a restarting server gets half a minute in total."""
    time.sleep(random.uniform(0.5, 1.0) * min(0.05 * 2**attempt, 10))


def open_store(options: TableOptions) -> MaintainedTable:
    """The store for the table of the options; nothing is opened yet. Raises ConfigError if its library is missing."""
    match options.format:
        case TableFormat.SQLITE:
            from oncelog.spark.tables.databases.sqlite import SqliteTable

            return SqliteTable(options)
        case TableFormat.POSTGRESQL:
            from oncelog.spark.tables.databases.postgresql import PostgresTable

            return PostgresTable(options)
        case TableFormat.DELTA:
            from oncelog.spark.tables.lake.delta import DeltaTableStore

            return DeltaTableStore(options)
        case TableFormat.ICEBERG:
            from oncelog.spark.tables.lake.iceberg import IcebergTable

            return IcebergTable(options)


def check_table(store: MaintainedTable, schema: StructType, options: TableOptions) -> None:
    """Refuse rows with these columns if the table, as it is now defined, cannot store them; changes nothing. Raises
    ConfigError, and OncelogError if the table cannot be read."""
    named = named_rows(schema, options, store.layout())
    store.compare(named.written, named.options)


class _Run:
    """What a sink that writes a batch knows about other sinks of the same run of a query.

    :param beside: names of other sinks that the query has.
    :param writing: a context that ends when the batch is written.
    :param check_plan: refuses a plan of the batch that is not this run's.
    """

    def __init__(
        self,
        run_id: str,
        batch_id: int,
        name: str,
        beside: Collection[str],
        writing: contextlib.ExitStack,
        check_plan: Callable[[OffsetLogEntry], None] = lambda batch: None,
    ) -> None:
        self.beside = beside
        self.check_plan = check_plan
        self._sink = run_id, "table", name
        self._batch_id = batch_id
        self._writing = writing
        self._claimed = ""
        self.keys = query_sinks().groups(run_id)

    def claim(self, group: str, table_id: str) -> None:
        """Raises ConfigError if another sink of the same name has written this batch to the table, or is writing it."""
        if table_id and table_id != self._claimed:
            self._claimed = table_id
            self._writing.enter_context(query_sinks().writing((*self._sink, table_id), self._batch_id))
            self.keys.add(last_write_key(group, table_id))


def write_table_batch(
    rows: DataFrame,
    batch_id: int,
    location: str,
    options: TableOptions,
    name: str,
    store: TableStore,
    observe: Observer,
    run: _Run,
) -> Written:
    """Write one micro-batch of the query whose checkpoint is at ``location``."""
    began = real_time.monotonic()
    checkpoint = checkpoint_at(location)
    group = table_group(checkpoint.query_id(), name)
    names = BatchNames(rows.schema, options)

    def plan(seen: TableLook) -> BatchPlan:
        run.claim(group, seen.table_id)
        names.look(seen.layout)
        facts = ClusterFacts(seen.table_id, seen.retention_ms)
        siblings = run.keys - {last_write_key(group, seen.table_id)} | {
            table_group(checkpoint.query_id(), other) for other in run.beside
        }
        found = plan_of(checkpoint, batch_id, group, facts, options.on_missing, siblings, str(options), seen.others)
        run.check_plan(found.batch)
        return found

    def prepare() -> str:
        table_id = store.prepare(names.rows.written, names.rows.options)
        run.claim(group, table_id)
        return table_id

    def parts() -> Sequence[WrittenPart]:
        named = names.written()
        chosen = latest(rows.toDF(*named.names), named.options).select(*map(escaped, named.written.names))
        ready = prepared(store.arranged(chosen), named.options)
        return write_parts(ready, store.task_writer(), options.max_batch_bytes)

    numbers = (batch_id, batch_id - 1)
    plans = [found.fingerprint for found in map(checkpoint.planned, numbers) if found is not None]
    batch = TableBatch(
        group=group,
        plans=plans,
        mode=options.mode,
        plan=plan,
        prepare=prepare,
        rows=parts,
        remember=checkpoint.remember,
        known={one.group for one in checkpoint.last_writes() if one.table},
    )
    outcome, written = write_batch(batch, store, observe, logger.warning, now_ms, _pause)
    by_tasks = sum(1 for part in written if part.inline is None)
    path = "none" if outcome is BatchOutcome.SKIPPED else "executors" if by_tasks else "driver"
    return Written(
        batch_id,
        path,
        by_tasks,
        sum(part.rows for part in written),
        sum(part.size_bytes for part in written),
        real_time.monotonic() - began,
        sinks={str(options): sum(part.rows for part in written)},
    )
