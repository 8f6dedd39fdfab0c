"""When each transaction began and how it ended, as the broker recorded it in ``__transaction_state``.

Called by :mod:`oncelog.apps.demo.run` for the report's timeline. Reads that topic as any client may.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from oncelog.apps.demo.proof import read_topic
from oncelog.broker.coordinator.transaction.records import decode_key, decode_value
from oncelog.broker.coordinator.transaction.states import TransactionState
from oncelog.types import TRANSACTION_STATE_TOPIC

COMMITTED = "committed"
ABORTED = "aborted"

_ENDED = {
    TransactionState.PREPARE_COMMIT: COMMITTED,
    TransactionState.COMPLETE_COMMIT: COMMITTED,
    TransactionState.PREPARE_ABORT: ABORTED,
    TransactionState.COMPLETE_ABORT: ABORTED,
}


class Span(NamedTuple):
    """One transaction; times in milliseconds since 1970."""

    transactional_id: str
    start_ms: int
    end_ms: int
    outcome: str


def transaction_history(bootstrap_servers: str, ids: Collection[str]) -> list[Span]:
    """The finished transactions of some transactional ids, in the order in which they began."""
    spans: list[Span] = []
    begun: dict[str, int] = {}
    for record in read_topic(bootstrap_servers, TRANSACTION_STATE_TOPIC, "read_uncommitted"):
        name = decode_key(record.key) if record.key is not None else None
        if name not in ids or name is None or record.value is None:
            continue
        txn = decode_value(name, record.value)
        if txn.state is TransactionState.ONGOING:
            begun[name] = txn.start_ms
        elif txn.state in _ENDED and name in begun:
            spans.append(Span(name, begun.pop(name), txn.last_update_ms, _ENDED[txn.state]))
    return sorted(spans, key=lambda span: (span.start_ms, span.transactional_id))
