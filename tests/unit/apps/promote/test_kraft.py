"""The metadata as a snapshot of Kafka's metadata log; ``tests/compatibility/interop/promote`` shows that Kafka starts
on one.
"""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.apps.promote.kraft import METADATA_VERSIONS, Quorum, read_snapshot, snapshot_of
from oncelog.broker.metadata.metadata_errors import MetadataError
from oncelog.broker.metadata.store import MetadataStore, ResourceType
from oncelog.protocol.generated.config_record import ConfigRecord
from oncelog.protocol.generated.feature_level_record import FeatureLevelRecord
from oncelog.protocol.generated.partition_record import PartitionRecord
from oncelog.protocol.generated.producer_ids_record import ProducerIdsRecord
from oncelog.records.batch import iter_headers
from tests.support.ports import CountingRandom

QUORUM = Quorum(1, "AAAAAAAAAAAAAAAAAAAAAQ", "127.0.0.1", 9093)


@pytest.fixture
def store() -> MetadataStore:
    made = MetadataStore(":memory:", node_id=1, random=CountingRandom())
    made.create_topic("orders", 600, {"retention.ms": "-1"}, 0)
    made.set_dynamic_config(ResourceType.BROKER, "", {"oncelog.flush.policy": "commit", "log.cleaner.backoff.ms": "1"})
    made.producer_ids.allocate()
    return made


def test_a_snapshot_is_read_back_unchanged(store: MetadataStore) -> None:
    snapshot = snapshot_of(store, QUORUM, 5)
    assert read_snapshot(snapshot.data) == snapshot.records


def test_a_snapshots_name_is_the_offset_after_its_last_record(store: MetadataStore) -> None:
    snapshot = snapshot_of(store, QUORUM, 5)
    *_, (_, last) = iter_headers(snapshot.data)
    assert snapshot.name == f"{last.base_offset + 1:020d}-{1:010d}.checkpoint"


def test_in_the_promoted_metadata_no_partition_has_a_leader_and_each_keeps_its_last_leader_epoch(
    store: MetadataStore,
) -> None:
    partitions = [record for record in snapshot_of(store, QUORUM, 5).records if isinstance(record, PartitionRecord)]
    assert len(partitions) == 600
    assert {(p.leader, p.leader_epoch) for p in partitions} == {(-1, store.leader_epoch("orders", 0))}


def test_producer_ids_continue_after_the_last_reserved_block(store: MetadataStore) -> None:
    last = snapshot_of(store, QUORUM, 5).records[-1]
    assert isinstance(last, ProducerIdsRecord)
    assert last.next_producer_id == 1000


def test_settings_that_kafka_does_not_know_are_not_promoted(store: MetadataStore) -> None:
    names = [record.name for record in snapshot_of(store, QUORUM, 5).records if isinstance(record, ConfigRecord)]
    assert names == ["retention.ms", "log.cleaner.backoff.ms"]


def test_broker_settings_are_not_promoted_if_that_is_requested(store: MetadataStore) -> None:
    kept = {"log.cleaner.backoff.ms": "1"}
    secret = {"listeners": "A://:1", "listener.name.a.ssl.key.password": "x", "super.users": "User:ada"}
    store.set_dynamic_config(ResourceType.BROKER, "1", kept | secret)

    def settings_of_node_1(**more: Any) -> dict[str, str | None]:
        records = snapshot_of(store, QUORUM, 5, **more).records
        return {r.name: r.value for r in records if isinstance(r, ConfigRecord) and r.resource_name == "1"}

    assert settings_of_node_1() == kept | {name: value for name, value in secret.items() if name != "listeners"}
    assert settings_of_node_1(left_behind=lambda name: name in secret) == kept


@pytest.mark.parametrize(("release", "share"), [("4.0", 0), ("4.1", 0), ("4.2", 1), ("4.3", 1), ("4.4", 2)])
def test_promoted_features_have_the_levels_of_the_target_release(
    store: MetadataStore, release: str, share: int
) -> None:
    store.finalize_features({"group.version": 1, "share.version": 2, "transaction.version": 2})
    records = snapshot_of(store, QUORUM, 5, metadata_version=METADATA_VERSIONS[release]).records
    assert isinstance(records[0], FeatureLevelRecord)
    assert (records[0].name, records[0].feature_level) == ("metadata.version", METADATA_VERSIONS[release])
    levels = {record.name: record.feature_level for record in records[1:] if isinstance(record, FeatureLevelRecord)}
    expected = {"group.version": 1, "transaction.version": 2}
    assert levels == expected | ({"share.version": share} if share else {})


@pytest.mark.parametrize("cut", [1, 61, 200, -1])
def test_a_torn_snapshot_is_refused(store: MetadataStore, cut: int) -> None:
    with pytest.raises(MetadataError):
        read_snapshot(snapshot_of(store, QUORUM, 5).data[:cut])


def test_a_changed_byte_of_a_snapshot_is_detected(store: MetadataStore) -> None:
    data = bytearray(snapshot_of(store, QUORUM, 5).data)
    data[300] ^= 1
    with pytest.raises(MetadataError):
        read_snapshot(bytes(data))
