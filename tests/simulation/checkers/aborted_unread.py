"""A reader of committed records receives no record of an aborted transaction, and none before its commit."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import Fate, History


def check(history: History) -> Sequence[str]:
    found = []
    transactions = {(sent.value, sent.where.topic): sent.transaction for sent in history.sent}
    given = [(seen.reader, seen.where, seen.offset, seen.value, seen.at_ns) for seen in history.seen]
    given += [
        (reader, where, offset, value, 2**63)
        for reader, log in (("the last reader", history.committed), ("a reader after a restart", history.after_restart))
        for where, records in log.items()
        for offset, value in records
    ]
    for reader, where, offset, value, at_ns in given:
        number = transactions.get((value, where.topic))
        if number is None:
            continue
        transaction = history.transactions[number]
        if transaction.fate in (Fate.ABORTED, Fate.ABORTING) and transaction.commit_asked_ns is None:
            found.append(f"{reader} was given {value!r} (offset {offset} of {where}) of an aborted transaction")
        elif transaction.commit_asked_ns is None or at_ns < transaction.commit_asked_ns:
            found.append(f"{reader} was given {value!r} (offset {offset} of {where}) before its commit was asked for")
    return found
