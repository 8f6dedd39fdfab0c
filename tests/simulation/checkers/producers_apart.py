"""No two producers share a producer id; a transactional id's lives do, a plain producer's do not."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    owners: dict[int, str] = {}
    found = []
    senders = {
        sent.value: sent.producer.partition(".")[0] if sent.transaction is not None else sent.producer
        for sent in history.sent
    }
    for value, producer_id in history.producers:
        sender = senders.get(value)
        if sender is not None and owners.setdefault(producer_id, sender) != sender:
            found.append(f"producer id {producer_id} is {owners[producer_id]}'s and {sender}'s ({value!r})")
    return found
