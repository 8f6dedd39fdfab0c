"""``oncelog verify pipeline`` against a broker: batches written as the sink writes them, with marker and records in one
transaction."""

from __future__ import annotations

from pathlib import Path

from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.marker import LastWrite, Marker
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, call


def verify(broker: RunningBroker, checkpoint: Checkpoint) -> Outcome:
    address = broker.bootstrap_servers
    return call("verify", "pipeline", checkpoint.location, "--bootstrap-server", address, "--json")


def write(broker: RunningBroker, group: str, topic: str, checkpoint: Checkpoint, batch: int, rows: int) -> None:
    """A batch of 3 rows, whose marker says ``rows``."""
    planned = checkpoint.planned(batch)
    assert planned is not None
    marker = Marker("q", batch, rows, planned.fingerprint, planned.planned_at_ms, planned.offsets)
    with Producer(bootstrap_servers=broker.bootstrap_servers, transactional_id=group) as producer:
        producer.begin_transaction()
        for number in range(3):
            producer.send(topic, b"%d-%d" % (batch, number)).get()
        offset = OffsetAndMetadata(batch, marker.encode())
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): offset}, group)
        producer.commit_transaction()


def test_batches_are_compared_with_their_plans(broker: RunningBroker, unique_name: str, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"q"}')
    for folder in ("offsets", "commits"):
        (tmp_path / folder).mkdir()
    for batch in range(3):
        (tmp_path / "offsets" / str(batch)).write_text(
            f'v1\n{{"batchTimestampMs":17{batch}}}\n{{"in":{{"0":{batch}}}}}'
        )
        (tmp_path / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    checkpoint = Checkpoint.open(str(tmp_path))
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1, 1)])
    group = f"oncelog-q-{unique_name}"
    assert verify(broker, checkpoint).code == 2  # it remembers no group yet
    checkpoint.remember(LastWrite("cluster", group, 0))
    for batch in range(2):
        write(broker, group, unique_name, checkpoint, batch, 3)
    lost = verify(broker, checkpoint)
    assert (lost.code, lost.json["counts"]) == (1, {"batch-missing": 1})
    write(broker, group, unique_name, checkpoint, 2, 3)
    reported = verify(broker, checkpoint).done().json
    assert (reported["counts"], reported["looked_at"]["batches"], reported["looked_at"]["records"]) == ({}, 3, 9)
    write(broker, group, unique_name, checkpoint, 2, 4)
    again = verify(broker, checkpoint)
    assert (again.code, again.json["counts"]) == (1, {"batch-twice": 1, "batch-rows": 1})
