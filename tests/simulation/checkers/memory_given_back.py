"""When nobody asks for anything any more, requests take no memory: none was left waiting for good."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.history import History


def check(history: History) -> Sequence[str]:
    taken = history.taken_bytes
    return [f"requests still take {taken} bytes although all are answered"] if taken else []
