"""Writes one batch exactly once; every write to a destination goes through this module.

Called with each batch by ``format("oncelog")`` (:mod:`oncelog.spark.sink.writers`), and by ``for_each_batch`` and
``write`` (:mod:`oncelog.spark.executors.write`). No I/O: :class:`SinkTransaction` hides the destination, and
:class:`Carrier` the source of the records. All differences between destinations and between carriers are in these two.

A batch is identified by its query, its number and a fingerprint of its plan
(:class:`~oncelog.spark.sink.marker.BatchPlan`). The destination stores the marker of the last batch that it accepted
(:class:`~oncelog.spark.sink.marker.Marker`), and :func:`~oncelog.spark.sink.marker.decide` compares the two: write,
skip or refuse.

Invariants:

- The marker is in the same transaction as the records, so either both are visible or neither is.
- A missing marker counts only if it is read after :meth:`SinkTransaction.begin` has aborted the transaction of a run
  that died, and has fenced any process that might still be writing: from then on the marker does not change.
- A run whose batch is written, or older than a written batch, fences no other run: markers never go backwards, so this
  is known beforehand, and a fence would only end the transaction of the run that continues.
- A failed or unknown commit raises. Spark repeats the batch, and the first two steps of the next run determine the
  outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from oncelog.errors import OncelogError
from oncelog.spark.sink.marker import (
    BatchPlan,
    Decision,
    Found,
    LastWrite,
    Marker,
    NamedWrite,
    Refuse,
    Skip,
    Write,
    could_have_expired,
    decide,
    is_settled,
)


class BatchStep(Enum):
    """The steps of a write, in order. A crash between two steps leaves the destination in a different state each
    time."""

    STARTED = "started"
    FENCED = "fenced"
    MARKER_READ = "marker-read"
    HALF_PRODUCED = "half-produced"
    PRODUCED = "produced"
    MARKER_ADDED = "marker-added"
    COMMITTED = "committed"


Observer = Callable[[BatchStep, int | None], None]
"""Called when a step of a batch has been reached; used to show progress and to inject crashes."""


def ignore(step: BatchStep, batch_id: int | None) -> None:
    """An observer that does nothing."""


Clock: TypeAlias = Callable[[], int]
"""Returns the current time in milliseconds since 1970."""

Reached: TypeAlias = Callable[[BatchStep], None]
"""Reports to a batch's observer that a step has been reached."""


class SinkRefused(OncelogError):
    """The batch cannot be written without breaking the guarantee; the text says why and what to do."""


class SinkTransaction(Protocol):
    """A transaction of the destination. Each call returns when the destination has answered, or raises OncelogError.

    :func:`~oncelog.spark.sink.marker.decide` uses the result of :meth:`read_marker`. A carrier may need further
        methods, for instance to add records; such a carrier works only with the class that has these methods.
    """

    def look(self) -> Found:
        """The currently committed marker, regardless of open transactions; called before :meth:`begin`."""
        ...

    def begin(self) -> None:
        """Abort the transaction that an earlier run left open, and fence that run: it can neither write nor commit
        from now on."""
        ...

    def read_marker(self) -> Found:
        """The marker that the destination holds; called after :meth:`begin`."""
        ...

    def add_marker(self, marker: Marker) -> None:
        """Add the marker to the transaction."""
        ...

    def end(self, *, commit: bool) -> None:
        """Commit or abort, repeated until the outcome is known; without effect if nothing was added."""
        ...


class CarriedRecords(NamedTuple):
    """The records that a carrier has added to a transaction."""

    rows: int
    batches: int
    size_bytes: int


class RetryTransaction(NamedTuple):
    """The result of a carrier if the transaction has failed as a whole and can be repeated; the reason is for a
    warning."""

    reason: str


AnyTransaction = TypeVar("AnyTransaction", bound=SinkTransaction)
Carries = TypeVar("Carries", bound=SinkTransaction, contravariant=True)


class Carrier(Protocol[Carries]):
    """Brings the records of one batch into a transaction that has begun, from one process or from many."""

    @property
    def rows(self) -> int:
        """The batch's rows; an estimate unless :attr:`exact`."""
        ...

    @property
    def exact(self) -> bool: ...

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """The exceptions of :meth:`carry` after which the transaction is to be aborted."""
        ...

    def carry(self, transaction: Carries, reached: Reached) -> CarriedRecords | RetryTransaction:
        """Add all records, and return when the destination has acknowledged them."""
        ...


class BatchOutcome(Enum):
    WRITTEN = "written"
    SKIPPED = "skipped"


NOTHING = CarriedRecords(0, 0, 0)


class BatchResult(NamedTuple):
    outcome: BatchOutcome
    carried: CarriedRecords = NOTHING


@dataclass(frozen=True, slots=True)
class EnginePorts:
    """What the engine calls: an observer, a log, the clock and the checkpoint.

    :param remember: stores the batch's destination in the checkpoint, before anything can be committed.
    """

    observe: Observer
    warn: Callable[[str], None]
    now_ms: Clock
    remember: Callable[[LastWrite], None]


class WriteEngine(Generic[AnyTransaction]):
    """Writes the batch of one plan.

    :param plan: None for a batch write without an id: such a write is atomic, but a repeat writes again.
    """

    def __init__(self, plan: BatchPlan | NamedWrite | None, transaction: AnyTransaction, ports: EnginePorts) -> None:
        self._plan = plan
        self._transaction = transaction
        self._ports = ports
        self._batch_id = None if plan is None else plan.number
        self._found: Found = None
        self._has_begun = False

    def begin(self, *, unless_marked: bool = False) -> None:
        """Fence earlier runs and read the marker. Nothing is added to the transaction. :meth:`write` calls this method
        unless the caller has already done so.

        Meanwhile a caller may compute the batch's rows in another thread.

        :param unless_marked: fence no run if the destination has a marker of any batch.
        """
        self._reached(BatchStep.STARTED)
        self._found = None if self._plan is None else self._transaction.look()
        enough = unless_marked and self._found is not None
        if self._plan is None or not (enough or is_settled(self._plan, self._found)):
            self._transaction.begin()
            self._reached(BatchStep.FENCED)
            self._found = None if self._plan is None else self._transaction.read_marker()
        self._has_begun = True

    def write(self, carrier: Carrier[AnyTransaction]) -> BatchResult:
        """Write the batch in one transaction, unless its marker says that it is written.

        If the batch cannot be written, raises OncelogError, or the error that the carrier raised. If such an error
        happens before the commit, the transaction is aborted, so that readers need not wait for a timeout.
        """
        while True:
            decision = self._open(carrier.rows if carrier.exact else None)
            if decision.warning:
                self._ports.warn(decision.warning)
            if isinstance(decision, Skip):
                if decision.leave_marker:
                    self._close(self._marker(carrier.rows), skipped=True)
                return BatchResult(BatchOutcome.SKIPPED)
            try:
                carried = carrier.carry(self._transaction, self._reached)
            except carrier.failures as error:
                self._abort(error)
                raise
            if isinstance(carried, RetryTransaction):
                self._ports.warn(carried.reason)
                continue
            if self._plan is not None or carried.batches:
                self._close(self._marker(carried.rows))
            return BatchResult(BatchOutcome.WRITTEN, carried)

    def keep_proof(self) -> None:
        """Commit a marker of the previous batch, if no marker proves that this batch is not written.

        Call this before the batch's rows are computed. Without a marker, only the age of the plan proves this, and only
        while markers cannot have expired. Does nothing if the retention of markers is known, if the previous batch was
        planned recently, or if a marker or the user's choice decides.
        """
        plan, ports = self._plan, self._ports
        if not isinstance(plan, BatchPlan) or plan.retention_ms is not None:
            return
        last = plan.previous.batch if plan.previous is not None else None
        if last is not None and not could_have_expired(last.planned_at_ms, ports.now_ms(), None):
            return
        self.begin(unless_marked=True)
        found, self._has_begun = self._found, False
        if found is not None:
            return
        decision = decide(plan, None, ports.now_ms())
        if isinstance(decision, Write) and not decision.warning:
            self._close(Marker.before(plan))

    def _reached(self, step: BatchStep) -> None:
        self._ports.observe(step, self._batch_id)

    def _open(self, rows: int | None) -> Write | Skip:
        """Decide by the marker that :meth:`begin` reads, after a fence unless the first read was enough. Raises
        SinkRefused if the batch may be neither written nor skipped.

        :param rows: the number of rows; None if they are not counted yet.
        """
        if not self._has_begun:
            self.begin()
        found, self._found, self._has_begun = self._found, None, False
        decision: Decision = Write("a write without an id")
        if self._plan is not None:
            # The clock is read after the marker, so that a process that was suspended in between notices an expired
            # marker
            decision = decide(self._plan, found, self._ports.now_ms(), rows)
        if isinstance(decision, Refuse):
            raise SinkRefused(decision.reason)
        self._reached(BatchStep.MARKER_READ)
        return decision

    def _marker(self, rows: int) -> Marker | None:
        return None if self._plan is None else Marker.of(self._plan, rows)

    def _close(self, marker: Marker | None, *, skipped: bool = False) -> None:
        """Add the marker to the transaction with the records, and commit.

        :param skipped: whether the batch counts as written, so that no record was added.
        """
        try:
            if marker is not None:
                if isinstance(self._plan, BatchPlan):
                    self._keep_last_write(self._plan, skipped=skipped)
                self._transaction.add_marker(marker)
            self._reached(BatchStep.MARKER_ADDED)
        except OncelogError as error:
            self._abort(error)
            raise
        self._transaction.end(commit=True)
        self._reached(BatchStep.COMMITTED)

    def _keep_last_write(self, plan: BatchPlan, *, skipped: bool) -> None:
        last_write = plan.last_write(skipped=skipped)
        if last_write != plan.remembered:
            self._ports.remember(last_write)

    def _abort(self, cause: Exception) -> None:
        """Abort the transaction; if the abort fails, a note on ``cause`` says so."""
        try:
            self._transaction.end(commit=False)
        except OncelogError as error:
            cause.add_note(
                f"The transaction could not be aborted either ({error}); the destination does it after its timeout."
            )
