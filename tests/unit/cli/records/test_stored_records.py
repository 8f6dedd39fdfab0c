"""The outcome of every stored record, against a naive reader of the whole log."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from oncelog.client.aio.admin.log_reader import RecordOutcome, StoredBatch, decided_outcomes, outcomes_by_markers
from oncelog.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader, Record
from oncelog.records.control import ControlType


@dataclass
class Log:
    """A partition as a list of one-record batches, with the outcomes known to an observer of the writes."""

    batches: list[StoredBatch] = field(default_factory=list)
    outcomes: list[RecordOutcome] = field(default_factory=list)
    open: dict[int, list[int]] = field(default_factory=dict)
    aborted: list[tuple[int, int]] = field(default_factory=list)

    def add(self, producer: int, attributes: int, control: ControlType | None, outcome: RecordOutcome) -> int:
        offset = len(self.batches)
        header = BatchHeader(base_offset=offset, producer_id=producer, attributes=attributes, records_count=1)
        self.batches.append(StoredBatch(header, (Record(offset, 0, None, b""),), control))
        self.outcomes.append(outcome)
        return offset

    def write(self, producer: int) -> None:
        self.open.setdefault(producer, []).append(self.add(producer, TRANSACTIONAL_BIT, None, RecordOutcome.OPEN))

    def write_plain(self, producer: int) -> None:
        if producer not in self.open:
            self.add(producer, 0, None, RecordOutcome.NOT_TRANSACTIONAL)

    def end(self, producer: int, commit: bool) -> None:
        offsets = self.open.pop(producer, [])
        for offset in offsets:
            self.outcomes[offset] = RecordOutcome.COMMITTED if commit else RecordOutcome.ABORTED
        if not commit and offsets:
            self.aborted.append((offsets[0], producer))
        kind, outcome = (
            (ControlType.COMMIT, RecordOutcome.COMMIT_MARKER)
            if commit
            else (ControlType.ABORT, RecordOutcome.ABORT_MARKER)
        )
        self.add(producer, TRANSACTIONAL_BIT | CONTROL_BIT, kind, outcome)


STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["write", "plain", "commit", "abort"])), max_size=40)


def _log(steps: list[tuple[int, str]]) -> Log:
    log = Log()
    for producer, step in steps:
        if step == "write":
            log.write(producer)
        elif step == "plain":
            log.write_plain(producer)
        else:
            log.end(producer, step == "commit")
    return log


@given(STEPS)
def test_the_next_marker_decides_outcomes_above_the_last_stable_offset(steps: list[tuple[int, str]]) -> None:
    log = _log(steps)
    assert [stored.outcome for stored in outcomes_by_markers(log.batches)] == log.outcomes


@given(STEPS, st.integers(0, 40))
def test_the_brokers_list_of_aborted_transactions_decides_outcomes_below_the_last_stable_offset(
    steps: list[tuple[int, str]], start: int
) -> None:
    log = _log(steps)
    for producer in sorted(log.open):
        log.end(producer, True)
    start = min(start, len(log.batches))
    # a broker names the transactions that reach the range; those that ended before it are left out
    reaching = [entry for entry in log.aborted if _end(log, entry) >= start]
    found = decided_outcomes(log.batches[start:], reaching)
    assert [stored.outcome for stored in found] == log.outcomes[start:]


def _end(log: Log, aborted: tuple[int, int]) -> int:
    """Offset of the abort marker of a transaction."""
    first, producer = aborted
    return next(
        offset
        for offset, batch in enumerate(log.batches)
        if offset > first and batch.header.producer_id == producer and batch.control is ControlType.ABORT
    )
