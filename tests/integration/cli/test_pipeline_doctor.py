"""``oncelog pipeline doctor`` against a broker: what it says about a checkpoint, in text and in JSON, and its
status.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from oncelog.client.blocking import Admin
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.marker import LastWrite, Marker
from oncelog.types import TopicPartition
from tests.integration.cli.conftest import call
from tests.integration.spark.kafka_records import create_topic


class RunningBroker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """Batch 0 is planned but has not ended."""
    (tmp_path / "metadata").write_text('{"id":"q"}')
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{"batchTimestampMs":1700000000000}\n{"in":{"0":10}}')
    return Checkpoint.open(str(tmp_path))


def leave(broker: RunningBroker, group: str, topic: str, marker: Marker) -> None:
    offset = OffsetAndMetadata(marker.batch_id, marker.encode())
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets(group, {TopicPartition(topic, 0): offset})


def test_doctor_says_what_the_next_start_of_a_query_will_do(
    broker: RunningBroker, unique_name: str, checkpoint: Checkpoint
) -> None:
    address = broker.bootstrap_servers
    group = f"oncelog-q-{create_topic(address, unique_name, 1)}"
    ask = ["pipeline", "doctor", checkpoint.location, "--bootstrap-server", address]
    assert "remembers no group, as this sink has not written from it yet" in call(*ask).sentence()
    checkpoint.remember(LastWrite("another", group, 0))
    refused = call(*ask)
    assert refused.code == 1
    assert "repeats batch 0: refuse, Batch 0 of query q has no marker" in refused.out
    batch = checkpoint.planned(0)
    assert batch is not None
    leave(broker, group, unique_name, Marker("q", 0, 5, batch.fingerprint, batch.planned_at_ms, batch.offsets))
    assert "name its group" in call(*ask).err, "a copy that writes elsewhere has another marker"
    assert call(*ask, "--group", group).err == ""
    (reported,) = call(*ask, "--json").done().json
    assert (reported["group"], reported["marker"]["rows"], reported["ends"]) == (group, 5, {f"{unique_name}-0": 0})
    assert reported["next"] == {
        "batchId": 0,
        "repeats": True,
        "verdict": "skip",
        "reason": "batch 0 is written: the marker holds this very plan",
    }
    assert reported["transaction"] == "none known"


def test_a_folder_that_is_not_a_checkpoint_is_reported_in_one_sentence(tmp_path: Path) -> None:
    reported = call("pipeline", "doctor", tmp_path, "--bootstrap-server", "127.0.0.1:1").sentence()
    assert "holds no file metadata" in reported


def test_a_folder_of_checkpoints_is_refused_and_the_error_lists_them(checkpoint: Checkpoint) -> None:
    folder = Path(checkpoint.location)
    above = call("pipeline", "doctor", folder.parent).sentence()
    assert f"{folder.parent} is not a checkpoint but contains some; name one: " in above
    assert str(folder) in above
    assert f"no such folder: {folder}x" in call("pipeline", "doctor", f"{folder}x").sentence()
