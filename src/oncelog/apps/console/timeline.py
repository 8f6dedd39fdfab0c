"""Derives the history of a transactional id from the records of ``__transaction_state``. Pure.

Sources: the states of ``broker.coordinator.transaction``; KIP-890 for the epoch that each transaction of a newer client
bumps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from oncelog.broker.coordinator.transaction.states import TransactionState as S
from oncelog.broker.coordinator.transaction.states import Txn


class TimelineStep(NamedTuple):
    """A record of the history; ``txn`` is None for the tombstone."""

    offset: int
    time_ms: int
    txn: Txn | None


class TimelineEvent(NamedTuple):
    """A step of the history, described in words; ``kind`` is begin, continue, prepare, commit, abort, fence or end."""

    step: TimelineStep
    kind: str
    title: str
    detail: str


def events(steps: Iterable[TimelineStep]) -> list[TimelineEvent]:
    """Describe each step of a history by its difference from the previous step."""
    found: list[TimelineEvent] = []
    before: Txn | None = None
    for step in steps:
        found.append(_event(step, before))
        before = step.txn
    return found


def _event(step: TimelineStep, before: Txn | None) -> TimelineEvent:
    txn = step.txn
    if txn is None:
        return TimelineEvent(step, "end", "Forgotten", "the id had not been used for transactional.id.expiration.ms")
    match txn.state:
        case S.EMPTY:
            return _began(step, txn, before)
        case S.ONGOING:
            return _ongoing(step, txn, before)
        case S.PREPARE_COMMIT:
            return TimelineEvent(
                step, "prepare", "Prepare commit", f"decided after {_open_for(txn)}; markers go to {_count(txn)}"
            )
        case S.PREPARE_ABORT:
            return _aborting(step, txn, before)
        case S.COMPLETE_COMMIT:
            return TimelineEvent(step, "commit", "Committed", f"all markers are written{_took(txn, before)}")
        case S.COMPLETE_ABORT:
            return TimelineEvent(step, "abort", "Aborted", f"all markers are written{_took(txn, before)}")
        case _:
            return TimelineEvent(step, "continue", txn.state.label, "")


def _began(step: TimelineStep, txn: Txn, before: Txn | None) -> TimelineEvent:
    now = f"producer id {txn.producer_id}, epoch {txn.producer_epoch}"
    if before is None:
        return TimelineEvent(step, "begin", "Producer initialized", now)
    if before.producer_id != txn.producer_id:
        return TimelineEvent(
            step, "fence", "Producer initialized with a new producer id", f"{now}; producers with older ids are fenced"
        )
    if before.producer_epoch < txn.producer_epoch:
        return TimelineEvent(step, "fence", "Producer initialized", f"{now}; producers with a lower epoch are fenced")
    return TimelineEvent(step, "begin", "Producer initialized again", now)


def _ongoing(step: TimelineStep, txn: Txn, before: Txn | None) -> TimelineEvent:
    old = before.partitions if before is not None and before.state is S.ONGOING else frozenset()
    new = sorted(txn.partitions - old)
    names = ", ".join(map(str, new[:20])) + (f" and {len(new) - 20} more" if len(new) > 20 else "")
    if before is None or before.state is not S.ONGOING:
        return TimelineEvent(step, "begin", "Began", f"with {names}" if names else "without partitions so far")
    return TimelineEvent(step, "continue", "Continued", f"with {names} too" if names else "nothing was added")


def _aborting(step: TimelineStep, txn: Txn, before: Txn | None) -> TimelineEvent:
    markers = f"markers go to {_count(txn)}"
    open_ms = txn.last_update_ms - txn.start_ms
    if txn.start_ms >= 0 and open_ms >= txn.timeout_ms > 0:
        return TimelineEvent(
            step, "fence", "Prepare abort: its timeout passed",
            f"open for longer than transaction.timeout.ms={txn.timeout_ms}; its producer is fenced; {markers}",
        )  # fmt: skip
    bumps = 0 if before is None else txn.producer_epoch - before.producer_epoch
    usual = 1 if txn.client_transaction_version >= 2 else 0
    if before is not None and before.producer_id == txn.producer_id and bumps > usual:
        return TimelineEvent(
            step, "fence", "Prepare abort: its producer was fenced",
            f"epoch {before.producer_epoch} was replaced by {txn.producer_epoch}; {markers}",
        )  # fmt: skip
    return TimelineEvent(step, "prepare", "Prepare abort", f"decided after {_open_for(txn)}; {markers}")


def _count(txn: Txn) -> str:
    return "1 partition" if len(txn.partitions) == 1 else f"{len(txn.partitions)} partitions"


def _open_for(txn: Txn) -> str:
    return f"{max(0, txn.last_update_ms - txn.start_ms)} ms" if txn.start_ms >= 0 else "an unknown time"


def _took(txn: Txn, before: Txn | None) -> str:
    if before is None or before.state not in (S.PREPARE_COMMIT, S.PREPARE_ABORT):
        return ""
    return f", {max(0, txn.last_update_ms - before.last_update_ms)} ms after it was decided"
