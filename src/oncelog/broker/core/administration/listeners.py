"""The interface that the broker needs from the server to change listeners while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class RunningListeners(Protocol):
    """The server's listeners, with the authentication that they require."""

    def refusal(self, settings: Mapping[str, str]) -> str | None:
        """The message if the listeners cannot be changed to ``settings``, else None; changes nothing."""
        ...

    def follow(self) -> None:
        """Called when the broker's settings have changed: apply them to the listeners once the current callback is
        done."""
        ...
