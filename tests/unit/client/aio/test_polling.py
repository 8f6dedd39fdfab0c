"""A turn that the event loop refuses is not taken for one that is due."""

from __future__ import annotations

import asyncio
import threading

from oncelog.client.aio.polling import Polling


def test_a_wish_from_a_wrong_thread_does_not_end_all_turns() -> None:
    """In debug mode the loop refuses it; no turn came after that, and the client hung."""
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
