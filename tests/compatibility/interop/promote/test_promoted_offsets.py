"""Offsets of a topic that was deleted and recreated, on the Apache Kafka node that ``promote`` made of the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.group_members import commit, committed_once_stable
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, find_coordinator
from oncelog.apps.conformance.raw.wire import GROUP, RawConnection
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest
from oncelog.protocol.struct_fields import ZERO_UUID
from tests.compatibility.interop.promote.test_promote import promote, wait_for_leader
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess

pytestmark = pytest.mark.kafka


def make_again(connection: RawConnection, topic: str) -> None:
    connection.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000), 4)
    eventually(lambda: connection.topic_id(topic) == ZERO_UUID)
    connection.create_topic(topic, 1)


@pytest.mark.parametrize("version", [pytest.param(5, marks=pytest.mark.soak), 6], ids=["by-name", "by-id"])
def test_offsets_of_a_deleted_topic_do_not_apply_to_the_recreated_topic_after_promotion(
    tmp_path: Path, version: int
) -> None:
    """Neither those that were committed, nor those whose transaction is committed only on the new node."""
    for folder in ("broker", "kafka"):
        (tmp_path / folder).mkdir()
    node = ServeProcess(tmp_path / "broker", {})
    try:
        node.start()
        with RawConnection(node.bootstrap_servers) as connection:
            for topic in ("gone", "stays"):
                connection.create_topic(topic, 1)
            find_coordinator(connection, "g", GROUP)
            assert commit(connection, "g", {("gone", 0): 2, ("stays", 0): 3}) == [0, 0]
            producer = RawTransactionalProducer(connection, "x").init()
            producer.add_offsets("g")
            offsets = {("gone", 0): 5, ("stays", 0): 6}
            assert producer.commit_offsets_once("g", offsets, version=version) == [0, 0]
            make_again(connection, "gone")
        node.kill()
        kafka = ApacheKafka(tmp_path / "kafka")
        target = tmp_path / "kafka" / "node"
        promote(node.data, target, "--listen", kafka.bootstrap_servers, "--controller", kafka.controller)
        kafka.start_promoted(target)
        try:
            with RawConnection(kafka.bootstrap_servers) as there:
                wait_for_leader(there, "gone", 0)
                going_on = RawTransactionalProducer(there, "x")
                going_on.pid, going_on.epoch = producer.pid, producer.epoch
                assert going_on.end_once(commit=True).error_code == 0
                assert committed_once_stable(there, "g", "stays") == 6
                assert committed_once_stable(there, "g", "gone") == -1
        finally:
            kafka.stop()
    finally:
        if node._process is not None:
            node.close()
