"""All partitions of a transaction end alike: either every stored record of it is readable, or none is."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import Fate, History


def check(history: History) -> Sequence[str]:
    readable = {(where, value) for where, log in history.committed.items() for _, value in log}
    parts: dict[int, tuple[list[bytes], list[bytes]]] = {}
    for sent in history.sent:
        if sent.transaction is not None:
            there, missing = parts.setdefault(sent.transaction, ([], []))
            (there if (sent.where, sent.value) in readable else missing).append(sent.value)
    found = []
    for number, (there, missing) in parts.items():
        transaction = history.transactions[number]
        if there and missing:
            found.append(
                f"of transaction {number} ({transaction.producer}, {transaction.fate.value}) {len(there)} records are "
                f"readable and {len(missing)} are not: {there[0]!r}, but not {missing[0]!r}"
            )
        elif missing and transaction.fate is Fate.COMMITTED:
            found.append(f"transaction {number} ({transaction.producer}) was committed, and nothing of it is readable")
    return found
