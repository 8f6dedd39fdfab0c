"""Histories of simulated clients as Jepsen's EDN: read by a parser of EDN, and in the form that Elle's list-append
demands."""

from __future__ import annotations

from collections import Counter
from typing import Any

import edn_format
import pytest

from oncelog.testing.history import to_edn
from tests.simulation.worlds import run


def operations(text: str) -> list[dict[str, Any]]:
    parsed = [edn_format.loads(line) for line in text.splitlines()]
    return [{key.name: value for key, value in one.items()} for one in parsed]


@pytest.mark.parametrize("seed", range(5))
def test_the_history_of_a_seed_is_exported_as_a_list_append_history_of_jepsen(seed: int) -> None:
    found = operations(to_edn(run(seed, scene="everything").history.of_clients()))
    assert [one["index"] for one in found] == list(range(len(found)))
    appended: Counter[tuple[str, int]] = Counter()
    failed: set[tuple[str, int]] = set()
    read: dict[tuple[str, int], int] = {}
    busy: dict[int, dict[str, Any]] = {}
    over: set[int] = set()
    for one in found:
        assert one["f"].name == "txn"
        process, kind = one["process"], one["type"].name
        if kind == "invoke":
            assert process not in busy
            assert process not in over  # a process whose operation has an unknown outcome does nothing more
            busy[process] = one
            appended.update((key, number) for name, key, number in one["value"] if name.name == "append")
            continue
        invoked = busy.pop(process)
        assert [step[:2] for step in one["value"]] == [step[:2] for step in invoked["value"]]
        if kind == "info":
            over.add(process)
        for name, key, value in one["value"]:
            if name.name == "append" and kind == "fail":
                failed.add((key, value))
            elif name.name == "r":
                read |= {(key, number): position for position, number in enumerate(value)}
    assert not busy
    assert set(appended.values()) == {1}
    assert read
    recorded = {key for key, _ in appended}  # what a service writes by itself is in no client's history
    assert {one for one in read if one[0] in recorded} <= set(appended)
    assert not set(read) & failed
