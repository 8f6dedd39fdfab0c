"""One table in each format, with what others may do to it, and a query's checkpoint that writes to it without Spark."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import Catalog, load_catalog
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructField, StructType

from oncelog.spark.executors.write import Written
from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.checkpoint import Checkpoint, plan_of
from oncelog.spark.sink.engine import BatchOutcome, Observer, ignore
from oncelog.spark.sink.marker import BatchPlan
from oncelog.spark.sink.planning import now_ms
from oncelog.spark.tables.commit import TableBatch, write_batch
from oncelog.spark.tables.inline import inline_part
from oncelog.spark.tables.names import BatchNames
from oncelog.spark.tables.options import Mode, TableFormat, TableOptions
from oncelog.spark.tables.sink import _Run, open_store, write_table_batch
from oncelog.spark.tables.store import TableLook, TableStore, WrittenPart, table_group

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
SCHEMA = StructType([StructField("id", LongType()), StructField("text", StringType())])

Row = tuple[int, str | None]


def parts(rows: Sequence[Row]) -> list[WrittenPart]:
    """Rows as a task leaves them to the driver."""
    if not rows:
        return []
    return [inline_part(arrow(rows).to_batches())]


def arrow(rows: Sequence[Row]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, (pa.int64(), pa.string()), strict=True)],
        ["id", "text"],
    )


def in_order(rows: pa.Table) -> list[Row]:
    found = zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True)
    return sorted(found, key=lambda row: (row[0], row[1] or ""))


class World:
    """A table that a sink writes to; in each format a class of its own."""

    def __init__(self, folder: Path, options: TableOptions) -> None:
        self.folder = folder
        self.options = options

    def read(self) -> list[Row]:
        """The table's rows, in order."""
        raise NotImplementedError

    def drop(self) -> None:
        raise NotImplementedError

    def clean_identities(self) -> None:
        """What somebody does who removes what the sink keeps in the table, and leaves the rows."""
        raise NotImplementedError

    def append_as_another(self, row: Row) -> None:
        """Another program appends a row."""
        raise NotImplementedError

    def maintain(self) -> None:
        """What keeps a table fit: VACUUM, compaction, expired snapshots that are old enough."""
        raise NotImplementedError

    def saved(self) -> Callable[[], None]:
        """Save the table as it is; the result restores it."""
        raise NotImplementedError


class SqliteWorld(World):
    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.options.url, isolation_level=None)) as connection:
            yield connection

    def read(self) -> list[Row]:
        with self._connected() as connection:
            return connection.execute("SELECT id, text FROM flights ORDER BY id, text").fetchall()

    def drop(self) -> None:
        with self._connected() as connection:
            connection.execute("DROP TABLE flights")

    def clean_identities(self) -> None:
        with self._connected() as connection:
            connection.execute("DELETE FROM oncelog_batches")

    def append_as_another(self, row: Row) -> None:
        with self._connected() as connection:
            connection.execute("INSERT INTO flights VALUES (?, ?)", row)

    def maintain(self) -> None:
        with self._connected() as connection:
            connection.execute("VACUUM")

    def saved(self) -> Callable[[], None]:
        kept = Path(self.options.url).read_bytes()

        def restore() -> None:
            Path(self.options.url).write_bytes(kept)

        return restore


class PostgresWorld(World):
    def _execute(self, text: str, values: Any = None) -> list[Any]:
        with psycopg.connect(self.options.url, autocommit=True) as connection:
            cursor = connection.execute(text.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def read(self) -> list[Row]:
        return self._execute("SELECT id, text FROM flights ORDER BY id, text")

    def drop(self) -> None:
        self._execute("DROP TABLE flights")

    def clean_identities(self) -> None:
        self._execute("DELETE FROM oncelog_batches")

    def append_as_another(self, row: Row) -> None:
        self._execute("INSERT INTO flights VALUES (%s, %s)", row)

    def maintain(self) -> None:
        self._execute("VACUUM FULL")

    def saved(self) -> Callable[[], None]:
        tables = ("flights", "oncelog_batches")
        for table in tables:
            self._execute(f"CREATE TABLE saved_{table} AS SELECT * FROM {table}")

        def restore() -> None:
            for table in tables:
                self._execute(f"DELETE FROM {table}")
                self._execute(f"INSERT INTO {table} SELECT * FROM saved_{table}")

        return restore


class DeltaWorld(World):
    def read(self) -> list[Row]:
        return in_order(self.table().to_pyarrow_table())

    def table(self) -> DeltaTable:
        return DeltaTable(self.options.table, storage_options=dict(self.options.storage))

    def drop(self) -> None:
        shutil.rmtree(self.options.table)

    def clean_identities(self) -> None:
        """A copy of the files alone is a table of the same id: the metadata goes on, the transactions do not."""
        log = Path(self.options.table) / "_delta_log"
        for path in log.glob("*.json"):
            kept = [line for line in path.read_text().splitlines() if '"txn"' not in line]
            path.write_text("\n".join(kept) + "\n")

    def append_as_another(self, row: Row) -> None:
        storage = dict(self.options.storage)
        write_deltalake(self.options.table, arrow([row]), mode="append", storage_options=storage)

    def maintain(self) -> None:
        table = DeltaTable(self.options.table)
        table.optimize.compact()
        table.vacuum(0, dry_run=False, enforce_retention_duration=False)
        DeltaTable(self.options.table).create_checkpoint()
        for path in sorted((Path(self.options.table) / "_delta_log").glob("*.json"))[:-1]:
            path.unlink()  # as the log's retention does, once there is a checkpoint

    def saved(self) -> Callable[[], None]:
        kept = self.folder / "saved"
        shutil.copytree(self.options.table, kept)

        def restore() -> None:
            shutil.rmtree(self.options.table)
            shutil.copytree(kept, self.options.table)

        return restore


class IcebergWorld(World):
    def catalog(self) -> Catalog:
        return load_catalog("default", **self.options.catalog)

    def read(self) -> list[Row]:
        rows = self.catalog().load_table(self.options.table).scan().to_arrow()
        return in_order(rows)

    def drop(self) -> None:
        self.catalog().drop_table(self.options.table)

    def clean_identities(self) -> None:
        """Somebody else's commit; then all older snapshots expire, and the properties of the sinks are removed."""
        self.append_as_another((99, "another's"))
        self.expire_snapshots()
        table = self.catalog().load_table(self.options.table)
        with table.transaction() as transaction:
            transaction.remove_properties(*(name for name in table.properties if name.startswith("oncelog.")))

    def expire_snapshots(self) -> None:
        """All but the current one."""
        table = self.catalog().load_table(self.options.table)
        current = table.current_snapshot()
        ids = [one.snapshot_id for one in table.snapshots() if one != current]
        if ids:
            table.maintenance.expire_snapshots().by_ids(ids).commit()

    def append_as_another(self, row: Row) -> None:
        self.catalog().load_table(self.options.table).append(arrow([row]))

    def maintain(self) -> None:
        """Rewrite the files, and expire all snapshots but the current one."""
        table = self.catalog().load_table(self.options.table)
        table.overwrite(table.scan().to_arrow())
        self.expire_snapshots()

    def saved(self) -> Callable[[], None]:
        """Restored by a rollback."""
        before = self.catalog().load_table(self.options.table).current_snapshot()
        assert before is not None

        def restore() -> None:
            table = self.catalog().load_table(self.options.table)
            table.manage_snapshots().rollback_to_snapshot(before.snapshot_id).commit()

        return restore


def world_of(form: TableFormat, folder: Path, new_database: Callable[[], str], **more: Any) -> World:
    match form:
        case TableFormat.SQLITE:
            return SqliteWorld(folder, TableOptions(form, "flights", url=str(folder / "tables.db"), **more))
        case TableFormat.POSTGRESQL:
            return PostgresWorld(folder, TableOptions(form, "flights", url=new_database(), **more))
        case TableFormat.DELTA:
            return DeltaWorld(folder, TableOptions(form, str(folder / "lake" / "flights"), **more))
        case TableFormat.ICEBERG:
            catalog = {
                "type": "sql",
                "uri": f"sqlite:///{folder}/catalog.db",
                "warehouse": f"file://{folder}/warehouse",
            }
            return IcebergWorld(folder, TableOptions(form, "lake.flights", catalog=catalog, **more))


class Told(NamedTuple):
    outcome: BatchOutcome
    warnings: list[str]


@dataclass
class Query:
    """A query's checkpoint: Spark's files as it writes them, and batches that go through the sink's code."""

    root: Path
    options: TableOptions
    name: str = ""
    query_id: str = "84d98cca-0000"
    siblings: Collection[str] = ()
    store: TableStore = field(init=False)
    names: BatchNames = field(init=False)

    def __post_init__(self) -> None:
        self.store = open_store(self.options)
        for folder in ("offsets", "commits"):
            (self.root / folder).mkdir(exist_ok=True, parents=True)
        (self.root / "metadata").write_text(json.dumps({"id": self.query_id}))

    def copied(self, root: Path, **changed: Any) -> Query:
        shutil.copytree(self.root, root)
        return Query(root, replace(self.options, **changed), self.name, self.query_id)

    def plan(self, batch_id: int, *, at_ms: int = NOW_MS, upto: int | None = None) -> None:
        """Spark plans the batch, unless an earlier run has."""
        path = self.root / "offsets" / str(batch_id)
        if not path.exists():
            header = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": at_ms, "conf": {}})
            offsets = json.dumps({"in": {"0": batch_id if upto is None else upto}})
            path.write_text(f"v1\n{header}\n{offsets}\n-")

    def end(self, batch_id: int) -> None:
        (self.root / "commits" / str(batch_id)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    def forget(self, batch_id: int) -> None:
        """The checkpoint is restored from before the batch was planned."""
        for folder in ("offsets", "commits"):
            (self.root / folder / str(batch_id)).unlink(missing_ok=True)

    def write(
        self,
        batch_id: int,
        rows: Sequence[Row],
        *,
        at_ms: int = NOW_MS,
        now_ms: int | None = None,
        upto: int | None = None,
        on_missing: OnMissingMarker = OnMissingMarker.FAIL,
        observe: Observer = ignore,
        schema: StructType = SCHEMA,
        made: Callable[[], Sequence[WrittenPart]] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> Told:
        """Run the batch as ``to_table`` does; Spark's commit log does not say that it ended."""
        self.plan(batch_id, at_ms=at_ms, upto=upto)
        checkpoint = Checkpoint.open(str(self.root))
        group = table_group(self.query_id, self.name)
        names = self.names = BatchNames(schema, self.options)

        def plan(seen: TableLook) -> BatchPlan:
            names.look(seen.layout)
            facts = ClusterFacts(seen.table_id, seen.retention_ms)
            return plan_of(
                checkpoint, batch_id, group, facts, on_missing, self.siblings, str(self.options), seen.others
            )

        found = [checkpoint.planned(number) for number in (batch_id, batch_id - 1)]
        batch = TableBatch(
            group=group,
            plans=[one.fingerprint for one in found if one is not None],
            mode=self.options.mode,
            plan=plan,
            prepare=lambda: self.store.prepare(names.rows.written, names.rows.options),
            rows=lambda: (names.written(), made() if made else parts(rows))[1],
            remember=checkpoint.remember,
            known={one.group for one in checkpoint.last_writes()},
        )
        warnings: list[str] = []
        now = at_ms if now_ms is None else now_ms
        outcome, _ = write_batch(batch, self.store, observe, warn or warnings.append, lambda: now, lambda attempt: None)
        return Told(outcome, warnings)

    def write_frame(self, batch_id: int, rows: DataFrame) -> Written:
        """The same with rows that Spark computes."""
        self.plan(batch_id, at_ms=now_ms())
        with contextlib.ExitStack() as writing:
            run = _Run(str(uuid.uuid4()), batch_id, self.name, (), writing)
            written = write_table_batch(
                rows, batch_id, str(self.root), self.options, self.name, self.store, ignore, run
            )
        self.end(batch_id)
        return written

    def run(self, batch_id: int, rows: Sequence[Row], **more: Any) -> Told:
        reported = self.write(batch_id, rows, **more)
        self.end(batch_id)
        return reported


def with_mode(world: World, mode: Mode, key: tuple[str, ...] = ()) -> TableOptions:
    return replace(world.options, mode=mode, key=key)
