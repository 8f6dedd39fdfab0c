"""One module for each promise; ``check(history)`` describes each breach of it in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tests.simulation.checkers import (
    aborted_unread,
    compaction,
    copied_once,
    group_offsets,
    last_stable_offset,
    liveness,
    logs_verified,
    no_errors,
    nothing_lost,
    nothing_skipped,
    nothing_twice,
    order,
    producers_apart,
    refused_stays_out,
    replicas_agree,
    restart_knows,
    rows_once,
    transactions_whole,
)
from tests.simulation.history import History

CHECKERS: Mapping[str, Callable[[History], Sequence[str]]] = {
    module.__name__.rpartition(".")[2]: module.check
    for module in (
        nothing_lost,
        nothing_skipped,
        nothing_twice,
        aborted_unread,
        order,
        last_stable_offset,
        transactions_whole,
        compaction,
        copied_once,
        group_offsets,
        replicas_agree,
        producers_apart,
        refused_stays_out,
        restart_knows,
        rows_once,
        logs_verified,
        liveness,
        no_errors,
    )
}


def breaches(history: History, waived: Collection[str] = ()) -> list[str]:
    """Every breach of every promise except the waived ones, each preceded by the checker's name."""
    return [f"{name}: {breach}" for name, check in CHECKERS.items() if name not in waived for breach in check(history)]
