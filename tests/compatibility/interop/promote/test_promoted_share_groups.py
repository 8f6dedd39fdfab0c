"""A share group of our broker on the Apache Kafka node that ``promote`` made of its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import AcknowledgeType, Message, Producer, ShareConsumer

from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import RawConnection
from tests.compatibility.interop.promote.test_promote import promote, wait_for_leader
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess
from tests.support.share_groups import make_topic_and_group

pytestmark = pytest.mark.kafka

VALUES = {b"%d" % number for number in range(20)}
ACCEPTED = {b"%d" % number for number in range(10)}


def read(servers: str, wanted: set[bytes], kind: Callable[[Message], AcknowledgeType]) -> list[bytes]:
    consumer = ShareConsumer({"bootstrap.servers": servers, "group.id": "g", "share.acknowledgement.mode": "explicit"})
    consumer.subscribe(["jobs"])
    found: list[bytes] = []

    def polled() -> bool:
        for message in consumer.poll(1.0):
            value = message.value()
            assert value is not None
            found.append(value)
            consumer.acknowledge(message, kind(message))
        consumer.commit_sync(60)
        return wanted <= set(found)

    eventually(polled)
    consumer.close()
    return found


def test_records_acknowledged_before_the_promotion_are_not_delivered_again(tmp_path: Path) -> None:
    for folder in ("broker", "kafka"):
        (tmp_path / folder).mkdir()
    node = ServeProcess(tmp_path / "broker", {})
    try:
        node.start()
        servers = node.bootstrap_servers
        make_topic_and_group(servers, "jobs", "g")
        producer = Producer({"bootstrap.servers": servers})
        for value in sorted(VALUES, key=int):
            producer.produce("jobs", value)
        assert producer.flush(60) == 0
        read(
            servers,
            VALUES,
            lambda message: AcknowledgeType.ACCEPT if message.value() in ACCEPTED else AcknowledgeType.RELEASE,
        )
        node.kill()
        kafka = ApacheKafka(tmp_path / "kafka")
        target = tmp_path / "kafka" / "node"
        promote(node.data, target, "--listen", kafka.bootstrap_servers, "--controller", kafka.controller)
        kafka.start_promoted(target)
        try:
            wait_for_leader(RawConnection(kafka.bootstrap_servers), "jobs", 0)
            found = read(kafka.bootstrap_servers, VALUES - ACCEPTED, lambda _: AcknowledgeType.ACCEPT)
            assert sorted(found, key=int) == sorted(VALUES - ACCEPTED, key=int)
        finally:
            kafka.stop()
    finally:
        if node._process is not None:
            node.close()
