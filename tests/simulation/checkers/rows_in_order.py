"""An outbox: the records of rows that were committed one after another are in this order."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    found = []
    for writer, values in history.ordered.items():
        turn = {value: number for number, value in enumerate(values)}
        for where, log in history.committed.items():
            order = [turn[value] for _, value in log if value in turn]
            if order != sorted(order):
                found.append(f"the rows of {writer} are in {where} in the order {order}")
    return found
