"""What the broker needs of the shell to change listeners while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class ListenersAtWork(Protocol):
    """The shell's listeners, and the logins that they ask for."""

    def refusal(self, settings: Mapping[str, str]) -> str | None:
        """Why they cannot become what the broker's ``settings`` say; nothing changes."""
        ...

    def follow(self) -> None:
        """The broker's settings have changed: they become what these say, after this turn."""
        ...
