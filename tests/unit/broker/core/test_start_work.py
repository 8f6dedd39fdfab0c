"""The cost of a start, counted in function calls, which no load on the machine changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from oncelog.broker.core.broker import Broker
from oncelog.broker.core.requests.work import finished
from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.types import TRANSACTION_STATE_TOPIC
from tests.support.work import calls_of
from tests.unit.broker.core.conftest import NOW_MS, Admin

FEWEST = 200
SETTINGS = {"transaction.state.log.num.partitions": "5"}


def stop(broker: Broker) -> None:
    broker.stop(NOW_MS)


def kill(broker: Broker) -> None:
    broker.abandon()


def work_of_a_start(folder: Path, ids: int, end: Callable[[Broker], None]) -> int:
    """The calls of a start after ``end`` with the given number of transactional ids."""
    disk, path = MemoryDisk(), str(folder / f"{end.__name__}-{ids}")
    before = Admin(path, disk, **SETTINGS)
    before.broker.topics.ensure_internal(TRANSACTION_STATE_TOPIC, NOW_MS)
    for number in range(ids):
        request = InitProducerIdRequest(transactional_id=f"id-{number}", transaction_timeout_ms=60_000)
        assert before.ask(request, 4).error_code == 0
    end(before.broker)
    started: list[Admin] = []
    calls = calls_of(lambda: started.append(Admin(path, disk, **SETTINGS)))
    found = finished(started[0].broker.transactions.list(NOW_MS, node_id=None)).transactions
    started[0].broker.stop(NOW_MS)
    assert len(found) == ids
    return calls


@pytest.mark.parametrize("end", [stop, kill], ids=lambda end: end.__name__)
def test_the_work_of_a_start_is_proportional_to_the_number_of_transactional_ids(
    end: Callable[[Broker], None], tmp_path: Path
) -> None:
    """Twice as many ids cost at most twice as much, after a clean stop as well as after kill -9."""
    work_of_a_start(tmp_path, 1, end)  # modules are imported once
    few, some, many = (work_of_a_start(tmp_path, ids, end) for ids in (FEWEST, 2 * FEWEST, 4 * FEWEST))
    assert many - some <= 2.2 * (some - few)


def test_a_start_after_a_clean_stop_does_no_more_work_than_after_a_kill(tmp_path: Path) -> None:
    work_of_a_start(tmp_path, 1, stop)
    assert work_of_a_start(tmp_path, 2 * FEWEST, stop) <= 1.1 * work_of_a_start(tmp_path, 2 * FEWEST, kill)
