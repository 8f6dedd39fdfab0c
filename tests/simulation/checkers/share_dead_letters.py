"""A record that a member has rejected, and the broker has confirmed, has a dead letter, if nobody has accepted it.

An acknowledgement that comes too late is confirmed, too, once the record is done.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import ACCEPT, REJECT, History


def check(history: History) -> Sequence[str]:
    accepted = {
        (verdict.delivery.group, verdict.delivery.where, verdict.delivery.offset)
        for verdict in history.verdicts
        if verdict.kind == ACCEPT and verdict.is_done is not False
    }
    found = []
    for verdict in history.verdicts:
        delivery = verdict.delivery
        with_dead_letters = history.dead_letters.get(delivery.group)
        if with_dead_letters is None or verdict.kind != REJECT or not verdict.is_done:
            continue
        has_dead_letter = (delivery.where, delivery.offset) in with_dead_letters
        if not has_dead_letter and (delivery.group, delivery.where, delivery.offset) not in accepted:
            found.append(f"{delivery} was rejected and has no dead letter")
    return found
