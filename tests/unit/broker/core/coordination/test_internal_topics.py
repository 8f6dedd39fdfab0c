"""Which coordinator owns a transactional id: the internal topic's partitions decide."""

from __future__ import annotations

from pathlib import Path

from oncelog.broker.server.disk.memory_disk import MemoryDisk
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.types import TRANSACTION_STATE_TOPIC
from tests.unit.broker.core.conftest import NOW_MS, Admin

SETTING = "transaction.state.log.num.partitions"


def test_the_partition_count_of_an_internal_topic_overrides_the_setting(tmp_path: Path) -> None:
    disk, path = MemoryDisk(), str(tmp_path / "metadata.db")
    before = Admin(path, disk, **{SETTING: "5"})
    before.broker.topics.ensure_internal(TRANSACTION_STATE_TOPIC, NOW_MS)
    ids = [f"id-{number}" for number in range(20)]
    asked = {name: InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000) for name in ids}
    first = {name: before.ask(asked[name], 4) for name in ids}
    before.broker.stop(NOW_MS)
    after = Admin(path, disk, **{SETTING: "50"})
    again = {name: after.ask(asked[name], 4) for name in ids}
    after.broker.stop(NOW_MS)
    known = {name: (answer.error_code, answer.producer_id, answer.producer_epoch + 1) for name, answer in first.items()}
    assert {
        name: (answer.error_code, answer.producer_id, answer.producer_epoch) for name, answer in again.items()
    } == known
