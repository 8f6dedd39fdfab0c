"""The clients for programs without an event loop: the same methods, blocking.

Called by programs, the command line and Spark. All blocking clients of a process share one event loop in a background
thread. They may be used from several threads, a consumer from one at a time. Callbacks run on other threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oncelog.client.blocking.admin import Admin
    from oncelog.client.blocking.consumer import Consumer
    from oncelog.client.blocking.producer import Producer, Transaction

_HOMES = {"Admin": "admin", "Consumer": "consumer", "Producer": "producer", "Transaction": "producer"}

__all__ = ["Admin", "Consumer", "Producer", "Transaction"]


def __getattr__(name: str) -> Any:
    """Load a client when its name is first used: a producer needs no consumer."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)
