"""Logs of one partition with one fault each, and logs that are unusual and allowed, by name.

Used by the unit tests of ``oncelog.apps.verify`` and by those that plant them in the folders of running brokers.
"""

from __future__ import annotations

from oncelog.records.batch import Compression
from oncelog.types import MAX_SEQUENCE
from tests.support.made_logs import T0, data, marker

DAY_MS = 86_400_000


def damaged(batch: bytes, at: int, value: int) -> bytes:
    changed = bytearray(batch)
    changed[at] = value
    return bytes(changed)


PLAIN = data(0, pid=1, seq=0, count=3)
TXN = data(0, pid=1, seq=0, txn=True)

BROKEN: dict[str, tuple[list[str], list[bytes]]] = {
    "crc": (["crc-mismatch"], [damaged(PLAIN, -1, 0xFF)]),
    "count": (["malformed-batch"], [damaged(PLAIN, 60, 9)]),
    "negative delta": (["malformed-batch"], [damaged(PLAIN, 23, 0xFF)]),
    "overlap": (["offset-overlap"], [data(0, count=3), data(2, count=2)]),
    "back": (["offset-overlap"], [data(5), data(3)]),
    "gap": (["offset-gap"], [data(0), data(2)]),
    "record gone": (["offset-gap"], [data(0, count=2, last=3)]),
    "leader": (["leader-epoch-back"], [data(0, leader=3), data(1, leader=2)]),
    "sequence gap": (["sequence-gap"], [PLAIN, data(3, pid=1, seq=4)]),
    "sequence repeat": (["sequence-repeat"], [PLAIN, data(3, pid=1, seq=0, count=3)]),
    "sequence overlap": (["sequence-repeat"], [PLAIN, data(3, pid=1, seq=2, count=2)]),
    "restart at zero": (["sequence-repeat"], [PLAIN, data(3, pid=1, seq=3), data(4, pid=1, seq=0)]),
    "before the wrap": (["sequence-gap"], [data(0, pid=1, seq=MAX_SEQUENCE), data(1, pid=1, seq=1)]),
    "new epoch": (["sequence-start"], [PLAIN, data(3, pid=1, epoch=1, seq=3)]),
    "no sequence": (["sequence-missing"], [data(0, pid=1)]),
    "epoch back": (["epoch-back"], [data(0, pid=1, epoch=2, seq=0), data(1, pid=1, epoch=1, seq=0)]),
    "after its marker": (
        ["epoch-back"],
        [TXN, marker(1, pid=1, epoch=1), data(2, pid=1, seq=1, txn=True), marker(3, pid=1, epoch=1)],
    ),
    "plain within": (["plain-in-transaction", "outside-transaction"], [TXN, data(1, pid=1, seq=1), marker(2, pid=1)]),
    "plain outside": (["outside-transaction"], [TXN, marker(1, pid=1), data(2, pid=1, seq=1)]),
    "late marker": (["marker-epoch-back"], [data(0, pid=1, epoch=2, seq=0, txn=True), marker(1, pid=1, epoch=1)]),
    "marker ahead": (["marker-epoch-wrong"], [TXN, marker(1, pid=1, epoch=3)]),
    "aborted after its commit": (
        ["marker-contradicts"],
        [TXN, marker(1, pid=1, epoch=1), marker(2, pid=1, epoch=1, commit=False)],
    ),
    "old coordinator": (
        ["marker-coordinator-back"],
        [TXN, marker(1, pid=1, coordinator=5), data(2, pid=1, seq=1, txn=True), marker(3, pid=1, coordinator=4)],
    ),
    "no marker": (
        ["marker-missing"],
        [TXN, data(1, pid=1, epoch=1, seq=0, txn=True), marker(2, pid=1, epoch=2)],
    ),
    "in no transaction": (["malformed-batch"], [data(0, txn=True)]),
}
"""What is found, and the log."""

ALLOWED: dict[str, tuple[list[str], list[bytes]]] = {
    "wrap": (["producer-continues"], [data(0, pid=1, seq=MAX_SEQUENCE), data(1, pid=1, seq=0)]),
    "across the wrap": (["producer-continues"], [data(0, pid=1, seq=MAX_SEQUENCE, count=2), data(2, pid=1, seq=1)]),
    "expired": (["producer-expired"], [PLAIN, data(3, pid=1, seq=0, at=T0 + DAY_MS)]),
    "unknown producer": (["producer-continues"], [data(0, pid=1, seq=7)]),
    "marker of nothing": (["marker-without-data"], [marker(0, pid=1)]),
    "marker repeated": (["marker-without-data"], [TXN, marker(1, pid=1), marker(2, pid=1)]),
    "fenced": ([], [TXN, marker(1, pid=1, epoch=1, commit=False), data(2, pid=1, epoch=2, seq=0, txn=True),
                    marker(3, pid=1, epoch=2)]),
    "sequences go on": ([], [TXN, marker(1, pid=1), data(2, pid=1, seq=1, txn=True), marker(3, pid=1)]),
    "own epochs": ([], [TXN, marker(1, pid=1, epoch=1), data(2, pid=1, epoch=1, seq=0, txn=True),
                        marker(3, pid=1, epoch=2)]),
    "compressed": ([], [data(0, pid=1, seq=0, count=5, codec=Compression.GZIP), data(5, pid=1, seq=5)]),
    "clock set back": (["append-time-back"], [data(0, append_time=True), data(1, append_time=True, at=T0 - 9)]),
    "leader changed": ([], [data(0, leader=0), data(1, leader=4)]),
}  # fmt: skip
"""What is told, and the log."""
