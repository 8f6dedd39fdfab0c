"""A delivery is completed on one thread while another one queries it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from oncelog.client.delivery import Delivery

Callbacks = list[Callable[[Delivery[int]], object]] | None


class SettledMeanwhile(Delivery[int]):
    """Completes while a callback is added: after the check for an outcome, and before the callback is stored."""

    kept: Callbacks = None
    raced = False

    @property
    def _callbacks(self) -> Callbacks:
        if not self.raced:
            self.raced = True
            self.set_result(7)
        return self.kept

    @_callbacks.setter
    def _callbacks(self, callbacks: Callbacks) -> None:
        self.kept = callbacks


def test_a_callback_that_is_added_while_the_outcome_comes_is_called_once() -> None:
    reported: list[int] = []
    delivery = SettledMeanwhile(cast(Any, None))
    delivery.add_done_callback(lambda done: reported.append(done.result()))
    assert reported == [7]
