"""What was acknowledged is in the log forever, at the acknowledged offset; records of a transaction, if it
committed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import Fate, History


def check(history: History) -> Sequence[str]:
    found = []
    fates = {sent.value: sent.transaction for sent in history.sent}
    stored = {(where, offset): value for where, log in history.uncommitted.items() for offset, value in log}
    readable = {(where, offset): value for where, log in history.committed.items() for offset, value in log}
    for value, (where, offset) in history.acknowledged.items():
        number = fates[value]
        if stored.get((where, offset)) != value:
            found.append(
                f"{value!r} was acknowledged at offset {offset} of {where}, where {stored.get((where, offset))!r} is"
            )
            continue
        committed = number is None or history.transactions[number].fate is Fate.COMMITTED
        if committed and readable.get((where, offset)) != value:
            found.append(f"{value!r} at offset {offset} of {where} was committed, and nobody is given it")
    return found
