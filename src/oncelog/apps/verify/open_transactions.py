"""Judges transactions that have no marker in a partition. Pure.

Called by :mod:`oncelog.apps.verify.log_folder` and :mod:`oncelog.apps.verify.log_topics` when all partitions have been
read.
"""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report
from oncelog.apps.verify.outcomes import Outcomes
from oncelog.apps.verify.producer_checks import Open
from oncelog.client.core.admin.admin_types import TransactionDescription

IN_FLIGHT_MS = 60_000
"""How long after the first marker of a transaction its other markers may be written, in milliseconds; coordinators
retry them without a pause."""


def _add(report: Report, kind: str, one: Open, detail: str) -> None:
    report.add(
        kind,
        one.where,
        detail,
        first=one.first_offset,
        last=one.last_offset,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
    )


def judge_at_rest(
    open_now: Iterable[Open], now_ms: int, expected: Expected, outcomes: Outcomes, report: Report
) -> None:
    """Judge open transactions by the log alone: by their outcome in other partitions, and by how long they have been
    open at ``now_ms``."""
    for one in open_now:
        if _ended_elsewhere(one, now_ms, outcomes, report):
            continue
        open_ms = now_ms - one.since_ms
        if one.since_ms >= 0 and open_ms > expected.transaction_limit_ms:
            limit = f"the limit is {expected.transaction_limit_ms} ms"
            _add(report, "hanging-transaction", one, f"open for {open_ms} ms, {limit}")
        elif outcomes.has_later(one.producer_id, one.producer_epoch):
            _add(report, "hanging-transaction", one, "the transaction's producer has ended later transactions")
        else:
            _add(report, "open-transaction", one, f"open for {max(0, open_ms)} ms")


def _ended_elsewhere(one: Open, now_ms: int, outcomes: Outcomes, report: Report) -> bool:
    other = outcomes.elsewhere(one.producer_id, one.producer_epoch, one.where)
    if other is None:
        return False
    late = now_ms - other.marker_ms > IN_FLIGHT_MS or outcomes.has_later(one.producer_id, one.producer_epoch)
    kind = "half-ended-transaction" if late else "undecided-elsewhere"
    _add(report, kind, one, f"{other.outcome} in {other.where} at offset {other.marker_offset}, and open here")
    return True


def judge_with_coordinator(one: Open, known: TransactionDescription | None, now_ms: int, report: Report) -> None:
    """Judge an open transaction by the state that its coordinator reports; None if no coordinator knows the
    producer."""
    owns = (
        known is not None
        and known.producer_id == one.producer_id
        and one.where in known.partitions
        and known.state not in ("Empty", "CompleteCommit", "CompleteAbort", "Dead")
    )
    if known is None or not owns:
        state = "no coordinator knows its producer" if known is None else f"its coordinator says {known.state}"
        _add(report, "hanging-transaction", one, f"{state}, without this partition" if known else state)
        return
    open_ms = now_ms - known.start_time_ms
    if known.start_time_ms >= 0 and not known.two_phase_commit and open_ms > known.timeout_ms + IN_FLIGHT_MS:
        _add(report, "overdue-transaction", one, f"open for {open_ms} ms, its timeout is {known.timeout_ms} ms")
    else:
        _add(report, "open-transaction", one, f"{known.state} since {max(0, open_ms)} ms")
