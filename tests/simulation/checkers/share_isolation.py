"""A share group is given what is in the log; one that sees committed records only, nothing else, and not too early."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    committed = {where: dict(log) for where, log in history.committed.items()}
    stored = {where: dict(log) for where, log in history.uncommitted.items()}
    transactions = {sent.value: sent.transaction for sent in history.sent}
    found = []
    for delivery in history.deliveries:
        sees_committed = history.shared[delivery.group].is_committed
        log = (committed if sees_committed else stored).get(delivery.where, {})
        if delivery.value is None or log.get(delivery.offset) != delivery.value:
            found.append(f"{delivery}: {delivery.value!r}, where {log.get(delivery.offset)!r} is")
            continue
        transaction = (
            history.transactions.get(number) if (number := transactions.get(delivery.value)) is not None else None
        )
        if sees_committed and transaction is not None:
            asked_ns = transaction.commit_asked_ns
            if asked_ns is None or asked_ns > delivery.at_ns:
                found.append(f"{delivery}: nobody had asked for the commit of {delivery.value!r}")
    return found
