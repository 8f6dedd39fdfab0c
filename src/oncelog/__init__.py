"""oncelog: an event log with exactly-once semantics that speaks Apache Kafka's protocol and keeps its files.

``oncelog.Broker`` is the embedded broker; ``oncelog.Producer``, ``oncelog.Consumer`` and ``oncelog.Admin`` are the
blocking clients; the asyncio ones are in ``oncelog.client.aio``. Importing this package loads none of them: each is
loaded when its name is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""Type checkers take this for ``typing.TYPE_CHECKING``. Importing ``typing`` would be most of the time during which a
starting command cannot yet handle Ctrl-C."""

if TYPE_CHECKING:
    from typing import Any

    from oncelog.client.blocking import Admin, Consumer, Producer
    from oncelog.client.core.admin.admin_types import NewTopic
    from oncelog.embedded import Broker
    from oncelog.errors import KafkaError, OncelogError
    from oncelog.types import TopicPartition

__version__ = "0.1.0"

_HOMES = {
    "Admin": "oncelog.client.blocking",
    "Broker": "oncelog.embedded",
    "Consumer": "oncelog.client.blocking",
    "KafkaError": "oncelog.errors",
    "NewTopic": "oncelog.client.core.admin.admin_types",
    "OncelogError": "oncelog.errors",
    "Producer": "oncelog.client.blocking",
    "TopicPartition": "oncelog.types",
}

__all__ = [
    "Admin",
    "Broker",
    "Consumer",
    "KafkaError",
    "NewTopic",
    "OncelogError",
    "Producer",
    "TopicPartition",
    "__version__",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'oncelog' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
