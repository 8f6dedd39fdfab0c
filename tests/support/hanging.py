"""A transaction that hangs, as before KIP-890: open in a partition, and unknown to every coordinator."""

from __future__ import annotations

from oncelog.apps.conformance.raw.batches import TRANSACTIONAL, batch
from oncelog.apps.conformance.raw.transactional_producer import new_pid
from oncelog.apps.conformance.raw.wire import RawConnection

SETTINGS = {"transaction.partition.verification.enable": False}
"""What a broker needs for it: without verification, it accepts batches of any transaction."""


def leave_hanging(servers: str, topic: str, *values: bytes, partition: int = 0) -> None:
    """Append records of a transaction that its coordinator was never told about."""
    with RawConnection(servers) as connection:
        pid = new_pid(connection)
        data = batch(*values, pid=pid, epoch=0, sequence=0, attributes=TRANSACTIONAL)
        stored = connection.produce(topic, data, partition=partition, transactional_id=f"hangs-{pid}", version=9)
        assert stored.error == 0, stored
