"""One module for each promise; ``check(history)`` describes each breach of it in a sentence. What clients did and saw
is judged by the library that users have, in one go (``clients``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tests.simulation.checkers import (
    clients,
    compaction,
    copied_once,
    last_stable_offset,
    liveness,
    logs_verified,
    memory_given_back,
    no_errors,
    producers_apart,
    refused_stays_out,
    replicas_agree,
    restart_knows,
    rows_in_order,
    rows_once,
    schema_ids,
    share_counts,
    share_dead_letters,
    share_done,
    share_held,
    share_isolation,
    share_lost,
)
from tests.simulation.history import History

CHECKERS: Mapping[str, Callable[[History], Sequence[str]]] = {
    module.__name__.rpartition(".")[2]: module.check
    for module in (
        last_stable_offset,
        compaction,
        copied_once,
        replicas_agree,
        producers_apart,
        refused_stays_out,
        restart_knows,
        rows_once,
        rows_in_order,
        schema_ids,
        share_done,
        share_held,
        share_counts,
        share_isolation,
        share_dead_letters,
        share_lost,
        logs_verified,
        memory_given_back,
        liveness,
        no_errors,
    )
}


def breaches(history: History, waived: Collection[str] = ()) -> list[str]:
    """Every breach of every promise except the waived ones, each preceded by its kind or its checker's name."""
    unknown = set(waived) - clients.KINDS - CHECKERS.keys() - {logs_verified.TORN}
    if unknown:
        raise ValueError(f"nobody promises {', '.join(sorted(unknown))}")
    found = [str(breach) for breach in clients.breaches(history, waived)]
    return found + [
        f"{name}: {breach}"
        for name, check in CHECKERS.items()
        if name not in waived
        for breach in check(history)
        if not (logs_verified.TORN in waived and breach.startswith(logs_verified.TORN))
    ]
