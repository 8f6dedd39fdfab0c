"""The rights that source and sink need, on our broker and on Apache Kafka's StandardAuthorizer: these, and no fewer.

Both brokers also take less metadata than a marker with its offsets needs (``offset.metadata.max.bytes``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from oncelog.errors import KafkaError
from oncelog.protocol.acls import AclResourceType, Operation, PatternType, Permission
from oncelog.records.batch import Record, encode_batch
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.kafka.interface import OffsetRange, PartitionBatch
from oncelog.spark.options import parse_sink_options, parse_source_options
from oncelog.spark.sink.engine import BatchOutcome, SinkRefused, ignore
from oncelog.spark.sink.planning import begin_micro_batch, now_ms, plan_write
from oncelog.types import IsolationLevel, TopicPartition
from tests.integration.security.sides import PASSWORD, Rule, Side, kafka_side, oncelog_side
from tests.integration.spark.kafka_records import committed, create_topic, eventually, values
from tests.support.sink_writes import BatchWrite, commit_batch
from tests.unit.spark.sink.test_checkpoint import spark_writes

LITTLE = {"offset.metadata.max.bytes": "300"}
numbers = count()


@pytest.fixture(scope="module", params=["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    with (oncelog_side if request.param == "oncelog" else kafka_side)(LITTLE) as found:
        yield found


def allowed(kind: AclResourceType, name: str, operation: Operation, pattern: PatternType) -> Rule:
    return Rule(kind, name, pattern, "User:alice", "*", operation, Permission.ALLOW)


def options(side: Side, **given: str) -> dict[str, str]:
    """Alice's clients, on connections of their own."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "kafka.bootstrap.servers": side.asking_servers,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{module} required username="alice" password="{PASSWORD}";',
        "kafka.client.id": f"client-{next(numbers)}",
    } | given


def write(side: Side, topic: str, checkpoint: Path, after_ms: int = 0, **given: str) -> BatchOutcome:
    """The first batch of a query, as ``commit()`` writes it, that long after it was planned."""
    named = {"topic": topic, "checkpointLocation": str(checkpoint)} | given
    chosen = parse_sink_options(options(side, **named), streaming=True)
    cluster = cluster_for(chosen)
    assert cluster.partition_counts([topic]) == {topic: 1}
    planned = plan_write(chosen, 0)
    batch = PartitionBatch(topic, 0, 1, bytes(encode_batch([Record(0, now_ms(), None, b"v")])))
    what = BatchWrite(planned.plan, chosen.marker_partition, 1, 1, [batch])
    engine = cluster.transaction(planned.transactional_id, 60_000)
    return commit_batch(what, engine, ignore, lambda text: None, lambda: now_ms() + after_ms, planned.remember)


def new_query(folder: Path) -> Path:
    """A checkpoint whose plan is longer than the brokers allow metadata to be."""
    checkpoint = folder / f"checkpoint-{next(numbers)}"
    spark_writes(checkpoint, 0, at_ms=now_ms(), ended=False)
    plan = checkpoint / "offsets" / "0"
    plan.write_text(plan.read_text() + "-" * 500)
    (checkpoint / "metadata").write_text(json.dumps({"id": f"{folder.name}-{checkpoint.name}"}))
    return checkpoint


def test_the_sink_needs_four_permissions_and_names_a_missing_one(side: Side, unique_name: str, tmp_path: Path) -> None:
    topic, marker = (create_topic(side.open_servers, f"{unique_name}-{end}") for end in ("out", "markers"))
    prefix = f"{unique_name}-app-"
    rights = {
        f"WRITE on the transactional id {prefix}": allowed(
            AclResourceType.TRANSACTIONAL_ID, prefix, Operation.WRITE, PatternType.PREFIXED
        ),
        f"READ on the group {prefix}": allowed(AclResourceType.GROUP, prefix, Operation.READ, PatternType.PREFIXED),
        f"WRITE (to write) or READ (to read) on the topic {topic}": allowed(
            AclResourceType.TOPIC, topic, Operation.WRITE, PatternType.LITERAL
        ),
        f"READ on the topic {marker}, or name another one for the marker in the option markerTopic": allowed(
            AclResourceType.TOPIC, marker, Operation.READ, PatternType.LITERAL
        ),
    }
    given = {"transactionalIdPrefix": prefix, "markerTopic": marker}
    for right in rights:
        side.set_rules(*(rule for name, rule in rights.items() if name != right))
        with pytest.raises(KafkaError) as refused:
            write(side, topic, new_query(tmp_path), **given)
        assert f"grant the user {right}" in str(refused.value)
    reads_only = allowed(AclResourceType.TOPIC, topic, Operation.READ, PatternType.LITERAL)
    side.set_rules(
        *(rule for rule in rights.values() if rule.operation is not Operation.WRITE or rule.kind != 2), reads_only
    )
    with pytest.raises(KafkaError, match=f"grant the user WRITE on the topic {topic}"):
        write(side, topic, new_query(tmp_path), **given)
    assert committed(side.open_servers, topic) == []
    side.set_rules(*rights.values())
    checkpoint = new_query(tmp_path)
    assert write(side, topic, checkpoint, **given) is BatchOutcome.WRITTEN
    assert write(side, topic, checkpoint, **given) is BatchOutcome.SKIPPED
    eventually(lambda: values(committed(side.open_servers, topic)), [b"v"])


def test_a_slow_first_batch_is_written_once_without_permission_to_read_the_offsets_retention(
    side: Side, unique_name: str, tmp_path: Path
) -> None:
    topic = create_topic(side.open_servers, unique_name)
    side.set_rules(
        allowed(AclResourceType.TRANSACTIONAL_ID, unique_name, Operation.WRITE, PatternType.PREFIXED),
        allowed(AclResourceType.GROUP, unique_name, Operation.READ, PatternType.PREFIXED),
        allowed(AclResourceType.TOPIC, topic, Operation.WRITE, PatternType.LITERAL),
        allowed(AclResourceType.TOPIC, topic, Operation.READ, PatternType.LITERAL),
    )
    checkpoint, hour = new_query(tmp_path), 3_600_000
    prefix = {"transactionalIdPrefix": unique_name}
    with pytest.raises(SinkRefused, match="grant DESCRIBE_CONFIGS on the cluster"):
        write(side, topic, checkpoint, hour, **prefix)
    named = {"topic": topic, "checkpointLocation": str(checkpoint)} | prefix
    for outcome in (BatchOutcome.WRITTEN, BatchOutcome.SKIPPED):
        begin_micro_batch(parse_sink_options(options(side, **named), streaming=True))
        assert write(side, topic, checkpoint, hour, **prefix) is outcome
    eventually(lambda: values(committed(side.open_servers, topic)), [b"v"])


def test_the_source_names_its_missing_read_permission(side: Side, unique_name: str) -> None:
    partition = TopicPartition(create_topic(side.open_servers, unique_name), 0)
    read = allowed(AclResourceType.TOPIC, unique_name, Operation.READ, PatternType.LITERAL)
    describe = read._replace(operation=Operation.DESCRIBE)
    chosen = parse_source_options(options(side, subscribe=unique_name), streaming=True)
    cluster = cluster_for(chosen)
    side.set_rules()
    with pytest.raises(KafkaError, match=f"or READ .to read. on the topic {unique_name}"):
        cluster.partition_counts([unique_name])
    side.set_rules(describe)
    assert cluster.partition_counts([unique_name]) == {unique_name: 1}
    with pytest.raises(KafkaError, match=f"grant the user READ on the topic {unique_name}"):
        cluster.fetcher(OffsetRange(partition, 0, 1), IsolationLevel.READ_COMMITTED).fetch(0)
    side.set_rules(read)
    assert cluster.list_offsets({partition: -1}, IsolationLevel.READ_COMMITTED) == {partition: 0}
