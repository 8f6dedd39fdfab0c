"""A log in memory and batches as producers send them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import open_log


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


@pytest.fixture
def log(disk: FaultyDisk) -> PartitionLog:
    return open_log(disk)


@pytest.fixture
def reopen(disk: FaultyDisk) -> Callable[..., PartitionLog]:
    """Open the folder again as after a clean close or, with ``clean=False``, a crash of the process."""

    def open_again(clean: bool = True, **kwargs: int) -> PartitionLog:
        return open_log(disk, clean=clean, **kwargs)

    return open_again
