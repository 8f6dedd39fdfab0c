"""Records what clients did, checks whether it contradicts exactly-once, and exports it.

    history = History()
    producer, consumer = recorded(producer, history, "shop"), recorded(consumer, history, "till")
    ...
    assert check(history) == []

Called by programs' tests and by our own simulation. Without a recording, :mod:`oncelog.apps.verify` judges the logs.
"""

from __future__ import annotations

from oncelog.testing.history.checking import Anomaly, check
from oncelog.testing.history.edn import to_edn
from oncelog.testing.history.events import (
    AbortAsked,
    Aborted,
    Acknowledged,
    Began,
    CommitAsked,
    Committed,
    Event,
    GroupOffset,
    History,
    Opened,
    Read,
    ReadAll,
    Rebalanced,
    Sent,
    Started,
)
from oncelog.testing.history.recording import recorded

__all__ = [
    "AbortAsked",
    "Aborted",
    "Acknowledged",
    "Anomaly",
    "Began",
    "CommitAsked",
    "Committed",
    "Event",
    "GroupOffset",
    "History",
    "Opened",
    "Read",
    "ReadAll",
    "Rebalanced",
    "Sent",
    "Started",
    "check",
    "recorded",
    "to_edn",
]
