"""The client's view of the cluster, and when it is refreshed."""

from __future__ import annotations

from oncelog.client.core.connection.metadata import NO_NODE, ClusterMetadata
from oncelog.client.core.connection.wire import METADATA
from oncelog.errors import Error
from oncelog.protocol.generated.metadata_response import MetadataResponse, MetadataResponseTopic
from oncelog.types import TopicPartition
from tests.unit.client.core.producers import P0, TOPIC, metadata_answer
from tests.unit.client.core.wires import FakeWire


def known(wire: FakeWire) -> ClusterMetadata:
    metadata = ClusterMetadata(wire, max_age_ms=10_000, retry_backoff_ms=100, retry_backoff_max_ms=1000)
    metadata.want([TOPIC])
    metadata.refresh()
    wire.pass_time(0)
    wire.take(METADATA).answer(metadata_answer(leader=1, epoch=5))
    return metadata


def test_an_older_leader_epoch_never_replaces_a_newer_one() -> None:
    wire = FakeWire()
    metadata = known(wire)
    metadata.request_update()
    wire.pass_time(100)
    wire.take(METADATA).answer(metadata_answer(leader=2, epoch=4))
    assert (metadata.leader(P0), metadata.leader_epoch(P0)) == (1, 5)
    metadata.request_update()
    wire.pass_time(100)
    wire.take(METADATA).answer(metadata_answer(leader=2, epoch=6))
    assert (metadata.leader(P0), metadata.leader_epoch(P0)) == (2, 6)


def test_the_metadata_of_a_recreated_topic_starts_without_old_leader_epochs() -> None:
    wire = FakeWire()
    metadata = known(wire)
    metadata.request_update()
    wire.pass_time(100)
    wire.take(METADATA).answer(metadata_answer(leader=2, epoch=0, topic_id=b"n" * 16))
    assert (metadata.leader(P0), metadata.leader_epoch(P0)) == (2, 0)
    assert metadata.names_by_id == {b"n" * 16: TOPIC}


def test_metadata_is_refreshed_when_it_is_old_but_no_more_often_than_the_backoff_allows() -> None:
    wire = FakeWire()
    metadata = known(wire)
    wire.pass_time(9_999)
    assert wire.count(METADATA) == 0
    wire.pass_time(1)
    wire.take(METADATA).answer(metadata_answer(epoch=5))
    for _ in range(5):
        metadata.request_update()
    wire.pass_time(99)
    assert wire.count(METADATA) == 0
    wire.pass_time(1)
    assert wire.count(METADATA) == 1


def test_a_lost_metadata_answer_is_requested_again_and_reported_to_the_caller() -> None:
    wire = FakeWire()
    metadata = known(wire)
    waiting = metadata.refresh()
    wire.pass_time(100)
    wire.take(METADATA).lose()
    assert waiting.value is not None
    wire.pass_time(100)
    assert wire.count(METADATA) == 1


def test_a_topic_that_is_not_ready_keeps_its_last_metadata_and_is_requested_again() -> None:
    wire = FakeWire()
    metadata = known(wire)
    metadata.request_update()
    wire.pass_time(100)
    waiting = MetadataResponseTopic(error_code=Error.LEADER_NOT_AVAILABLE, name=TOPIC)
    wire.take(METADATA).answer(MetadataResponse(topics=[waiting]))
    assert metadata.leader(P0) == 1
    assert metadata.errors == {TOPIC: Error.LEADER_NOT_AVAILABLE}
    wire.pass_time(100)
    assert wire.count(METADATA) == 1


def test_a_leader_reported_in_a_refusal_is_used_if_its_epoch_is_newer() -> None:
    metadata = known(FakeWire())
    assert not metadata.leader_changed(P0, 2, 5)
    assert not metadata.leader_changed(P0, 99, 9)
    assert metadata.leader_changed(P0, 2, 6)
    assert metadata.leader(P0) == 2


def test_metadata_of_a_topic_that_is_needed_again_is_requested_at_once() -> None:
    wire = FakeWire()
    metadata = known(wire)
    assert metadata.want(["new"])
    waiting = metadata.refresh()
    wire.pass_time(0)
    assert [topic.name for topic in wire.take(METADATA).message.topics] == [TOPIC, "new"]
    metadata.set_wanted([TOPIC, "new", "newer"])  # while a question is under way that does not name it
    assert not waiting.done


def test_metadata_of_a_topic_needed_during_a_request_is_requested_right_after_it() -> None:
    wire = FakeWire()
    metadata = known(wire)
    metadata.request_update()
    wire.pass_time(100)
    asked = wire.take(METADATA)
    metadata.set_wanted([TOPIC, "new"])
    metadata.request_update()
    asked.answer(metadata_answer(epoch=5))
    wire.pass_time(0)
    assert [topic.name for topic in wire.take(METADATA).message.topics] == [TOPIC, "new"]


def test_a_topic_being_created_is_requested_only_after_the_backoff() -> None:
    wire = FakeWire()
    metadata = known(wire)
    metadata.want(["new"])
    metadata.refresh()
    wire.pass_time(0)
    coming = MetadataResponseTopic(error_code=Error.LEADER_NOT_AVAILABLE, name="new")
    wire.take(METADATA).answer(MetadataResponse(topics=[*metadata_answer(epoch=5).topics, coming]))
    metadata.refresh()
    wire.pass_time(99)
    assert wire.count(METADATA) == 0
    wire.pass_time(1)
    assert wire.count(METADATA) == 1


def test_a_partition_number_out_of_range_has_no_leader() -> None:
    metadata = known(FakeWire())
    for number in (-1, 2):
        name = TopicPartition(TOPIC, number)
        assert (metadata.leader(name), metadata.leader_epoch(name)) == (NO_NODE, -1)
