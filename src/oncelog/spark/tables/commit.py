"""Writes one micro-batch into a table exactly once: looks at the table, then runs the write engine; repeats both after
a conflict.

Called by :mod:`oncelog.spark.tables.sink`. No Spark and no I/O: the table is a
:class:`~oncelog.spark.tables.store.TableStore`, the rows a callable. A table's transaction fences no other run when it
    begins; instead its commit checks that the observed state has not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from oncelog.errors import InvariantError
from oncelog.spark.sink.engine import (
    BatchOutcome,
    BatchStep,
    CarriedRecords,
    EnginePorts,
    Observer,
    Reached,
    WriteEngine,
)
from oncelog.spark.sink.marker import BatchPlan, LastWrite, Marker
from oncelog.spark.tables.options import Mode
from oncelog.spark.tables.store import Commit, Conflict, TableLook, TableStore, WrittenPart

ATTEMPTS = 10
"""The maximum number of attempts to commit a batch if others change the table at the same time, or connections die."""


@dataclass(frozen=True, slots=True)
class TableBatch:
    """A micro-batch that is about to be written.

    :param plans: the fingerprints of the batch and of the previous one.
    :param plan: makes the plan from the table's observed state.
    :param prepare: creates the table, or compares its columns; returns its id.
    :param rows: makes tasks write the rows; called at most once.
    :param remember: stores in the checkpoint where the batch is written.
    :param known: groups of the query's table sinks, including earlier ones.
    """

    group: str
    plans: Sequence[str]
    mode: Mode
    plan: Callable[[TableLook], BatchPlan]
    prepare: Callable[[], str]
    rows: Callable[[], Sequence[WrittenPart]]
    remember: Callable[[LastWrite], None]
    known: Collection[str] = ()


class TableCarrier:
    """The carrier of a batch: makes tasks write the rows at the first attempt, and keeps their result for later
    attempts."""

    failures: tuple[type[Exception], ...] = ()

    def __init__(self, batch: TableBatch) -> None:
        self._batch = batch
        self.written: Sequence[WrittenPart] | None = None

    @property
    def exact(self) -> bool:
        """Whether the number of rows is known: it is once tasks have written them, which they do only if the table
        lacks the batch."""
        return self.written is not None

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.written or ())

    @property
    def carried(self) -> CarriedRecords:
        parts = self.written or ()
        return CarriedRecords(self.rows, len(parts), sum(part.size_bytes for part in parts))

    def carry(self, transaction: TableTransaction, reached: Reached) -> CarriedRecords:
        transaction.prepared(self._batch.prepare())
        if self.written is None:
            self.written = self._batch.rows()
            reached(BatchStep.PRODUCED)
        transaction.parts, transaction.mode = self.written, self._batch.mode
        return self.carried


class TableTransaction:
    """One attempt to commit to a table, in the form of a transaction of the engine."""

    def __init__(self, store: TableStore, group: str, seen: TableLook, prepare: Callable[[], str]) -> None:
        self._store = store
        self._group = group
        self._prepare = prepare
        self.seen = seen
        self.parts: Sequence[WrittenPart] = ()
        self.mode = Mode.APPEND
        self._marker: Marker | None = None

    def look(self) -> Marker | None:
        return self.seen.marker

    def begin(self) -> None:
        """Fences no earlier run: if such a run commits meanwhile, this run's commit raises a conflict."""

    def read_marker(self) -> Marker | None:
        return self.seen.marker

    def prepared(self, table_id: str) -> None:
        """Note the id of the table, which now exists."""
        self.seen = self.seen._replace(table_id=self.seen.table_id or table_id)

    def add_marker(self, marker: Marker) -> None:
        self._marker = marker

    def end(self, *, commit: bool) -> None:
        if not commit:
            return
        if self._marker is None:
            raise InvariantError(f"a batch of {self._group} was committed without its marker")
        if not self.seen.table_id:
            self.prepared(self._prepare())
        self._store.commit(Commit(self._group, self._marker, self.seen, self.mode, self.parts))


def write_batch(
    batch: TableBatch,
    store: TableStore,
    observe: Observer,
    warn: Callable[[str], None],
    now_ms: Callable[[], int],
    pause: Callable[[int], None],
) -> tuple[BatchOutcome, Sequence[WrittenPart]]:
    """Write the batch into the table unless the table has it; returns the outcome and the parts that tasks have
    written.

    Raises SinkRefused if the batch may be neither written nor skipped, and Conflict if other writers won every attempt.

    :param pause: called with the attempt's number; waits before another attempt.
    """
    carrier = TableCarrier(batch)
    conflict: Conflict | None = None
    for attempt in range(ATTEMPTS):
        if attempt:
            pause(attempt)
        try:
            seen = store.look(batch.group, batch.plans, batch.known)
            transaction = TableTransaction(store, batch.group, seen, batch.prepare)

            def remember(last_write: LastWrite, transaction: TableTransaction = transaction) -> None:
                batch.remember(replace(last_write, cluster_id=transaction.seen.table_id))

            ports = EnginePorts(observe, warn, now_ms, remember)
            result = WriteEngine(batch.plan(seen), transaction, ports).write(carrier)
        except Conflict as error:
            conflict = error
            if attempt + 1 < ATTEMPTS:
                warn(f"{error}. The batch is tried again ({ATTEMPTS - attempt - 1} more attempts).")
            continue
        # After a conflict the batch may be in the table: this run, or another run of the same plan, has committed it
        written = carrier.written is not None and (result.outcome is BatchOutcome.WRITTEN or conflict is not None)
        return (BatchOutcome.WRITTEN, carrier.written or ()) if written else (BatchOutcome.SKIPPED, ())
    raise conflict or InvariantError("a batch was not tried")
