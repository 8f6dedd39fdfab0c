"""Reads the unfinished transactions of a data folder from the files of ``__transaction_state``, without a broker.

Called by ``plan`` and ``promotion``. Decided transactions are completed by the promotion; open ones past their timeout
are aborted by the next coordinator as soon as it starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from oncelog.broker.coordinator.transaction.states import NO_TIME_LIMIT, TransactionState
from oncelog.broker.log.file_names import parse_file_name, parse_partition_folder
from oncelog.broker.log.segments.batch_reader import records_at_rest
from oncelog.protocol.generated.transaction_log_value import TransactionLogValue
from oncelog.protocol.internal_records import Unknown, decode_transaction_key, decode_transaction_value
from oncelog.records.record_errors import CorruptBatch
from oncelog.runtime.ports import Disk
from oncelog.types import TRANSACTION_STATE_TOPIC

UNFINISHED = frozenset({TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})


class UnfinishedTransaction(NamedTuple):
    """An open transaction, or a decided one without its ``Complete`` record."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    timeout_ms: int
    partitions: int

    @property
    def decided(self) -> bool:
        """Whether the transaction's outcome is decided, although markers or the ``Complete`` record may be missing."""
        return self.state != TransactionState.ONGOING.label

    @property
    def two_phase_commit(self) -> bool:
        """Whether a database decides the transaction's outcome."""
        return self.timeout_ms == NO_TIME_LIMIT

    def times_out(self, now_ms: int) -> bool:
        """Whether a coordinator that starts now would abort the transaction at once."""
        timed = not self.decided and not self.two_phase_commit
        return timed and self.started_ms + self.timeout_ms <= now_ms


def unfinished_transactions(disk: Disk) -> Iterator[UnfinishedTransaction]:
    """The unfinished transactions, sorted by transactional id. An incomplete end of a log file is ignored, as in
    recovery."""
    latest: dict[str, TransactionLogValue] = {}
    for folder in disk.list(""):
        partition = parse_partition_folder(folder)
        if partition is None or partition.topic != TRANSACTION_STATE_TOPIC:
            continue
        for name in disk.list(folder):
            parsed = parse_file_name(name)
            if parsed is not None and name.endswith(".log"):
                _replay(disk.read(f"{folder}/{name}"), latest)
    for transactional_id, value in sorted(latest.items()):
        state = TransactionState(value.transaction_status)
        if state in UNFINISHED:
            yield UnfinishedTransaction(
                transactional_id,
                state.label,
                value.producer_id,
                value.producer_epoch,
                value.transaction_start_timestamp_ms,
                value.transaction_timeout_ms,
                sum(len(topic.partition_ids) for topic in value.transaction_partitions or ()),
            )


def _replay(data: bytes, latest: dict[str, TransactionLogValue]) -> None:
    try:
        for record in records_at_rest(data):
            key = decode_transaction_key(record.key or b"")
            if isinstance(key, Unknown):
                continue
            if record.value is None:
                latest.pop(key.transactional_id, None)
            else:
                latest[key.transactional_id] = decode_transaction_value(record.value)
    except CorruptBatch:
        return
