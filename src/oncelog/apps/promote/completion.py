"""Completes the decided transactions in a copy of a data folder: writes the markers and the ``Complete`` records that a
killed broker had not written yet.

Called by ``promotion``. The broker's own core recovers the copy, carries out its coordinators' decisions, and stops.
Its clock stands still meanwhile, so nothing times out or expires and no retention runs: an open transaction stays open.
After an unclean stop, parts of transactions that no coordinator knows are aborted first, as at any start of the broker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.metadata.opening import open_metadata
from oncelog.broker.server.opening import SystemRandom
from oncelog.errors import StorageError
from oncelog.runtime.ports import Disk
from oncelog.settings.config import BrokerConfig


class _InlineBackground:
    """Implements ``ports.Background`` by running the work at once; enough for a broker without clients."""

    def run(self, work: Callable[[], None], done: Callable[[Exception | None], None]) -> None:
        try:
            work()
        except StorageError as error:
            done(error)
        else:
            done(None)


def complete_decided(disk: Disk, metadata: Path, config: BrokerConfig, now_ms: int) -> None:
    """Write the missing markers and records of decided transactions; the folder is then as after a clean stop.

    :param disk: the copy of the data folder.
    :param metadata: the copy of its metadata file.
    :raises OncelogError: the copy cannot be read or written, or a stored setting contradicts ``config``.
    """
    random = SystemRandom()
    config = replace(config, oncelog_flush_policy="none")  # the stop syncs
    store, config = open_metadata(str(metadata), disk, config, random, now_ms, sync=False)
    broker = Broker(
        config=config,
        node=SimulatedNode(config.node_id, "127.0.0.1", 0),
        metadata=store,
        disk=disk,
        random=random,
        background=_InlineBackground(),
    )
    try:
        broker.start(now_ms)
    except BaseException:
        broker.abandon()
        raise
    broker.stop(now_ms)
