"""The interface that the broker needs from the server to change listeners while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class RunningListeners(Protocol):
    """The server's listeners, and the logins that they require."""

    def refusal(self, settings: Mapping[str, str]) -> str | None:
        """Why the listeners cannot be changed to ``settings``; changes nothing."""
        ...

    def follow(self) -> None:
        """The broker's settings have changed: apply them to the listeners after this iteration."""
        ...
