"""Requests for a turn that come from the wrong thread do not end all turns."""

from __future__ import annotations

import asyncio
import threading

import pytest

from oncelog.client.aio.polling import Polling


def test_a_wish_from_a_wrong_thread_does_not_end_all_turns() -> None:
    """In debug mode the loop refuses the call; no turn followed, and the client hung."""
    turns: list[int] = []

    async def check() -> None:
        polling = Polling(lambda: turns.append(1))
        polling.start()
        refused: list[RuntimeError] = []

        def elsewhere() -> None:
            try:
                polling.soon()
            except RuntimeError as error:
                refused.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert len(refused) == 1
        polling.soon()
        await asyncio.sleep(0)

    asyncio.run(check(), debug=True)
    assert turns == [1]


def test_a_turn_that_comes_before_the_wish_has_returned_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """This can happen if another thread makes the request: the turn then counted as pending forever."""
    turns: list[int] = []

    async def check() -> None:
        polling = Polling(lambda: turns.append(1))
        polling.start()
        monkeypatch.setattr(asyncio.get_running_loop(), "call_soon", lambda callback: callback())
        polling.soon()
        polling.soon()
        monkeypatch.undo()

    asyncio.run(check())
    assert turns == [1, 1]
