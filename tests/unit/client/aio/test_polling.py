"""Requests for a turn that come from the wrong thread do not end all turns."""

from __future__ import annotations

import asyncio
import threading

import pytest

from oncelog.client.aio.polling import Polling


def test_a_request_from_a_wrong_thread_does_not_stop_polling() -> None:
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


def test_polling_continues_if_the_poll_runs_before_call_soon_returns(monkeypatch: pytest.MonkeyPatch) -> None:
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
