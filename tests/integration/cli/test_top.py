"""``oncelog top``."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import uuid
from typing import Any, cast

import oncelog
from oncelog.cli.administration.top import TopScreen, look, screen_row
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import ONCELOG, call

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def test_top_shows_rates_between_two_samples_and_the_busiest_topics_first() -> None:
    before = TopScreen(10.0, {A: 100, B: 50}, {A: 100, B: 50}, (), {"g": {B: 10}, "s": {A: 100}}, {"s": 4})
    after = TopScreen(12.0, {A: 110, B: 150}, {A: 104, B: 150}, (), {"g": {A: 90, B: 40}, "s": {A: 106}}, {"s": 2})
    found = screen_row(before, after, 10)
    assert [(row["topic"], row["records_per_s"], row["held_back"]) for row in found["topics"]] == [
        ("b", 50.0, 0),
        ("a", 5.0, 6),
    ]
    group, share = found["groups"]
    assert (group["records_per_s"], group["lag"], group["stable_lag"]) == (15.0, 130, 124)
    assert (share["records_per_s"], share["lag"], share["stable_lag"]) == (3.0, 2, None)
    assert found["records_per_s"] == 55.0


def test_new_removed_and_recreated_topics_never_show_a_negative_rate() -> None:
    gone = TopicPartition("gone", 0)
    found = screen_row(
        TopScreen(0.0, {A: 9, gone: 5}, {}, (), {}, {}), TopScreen(1.0, {A: 3, B: 7}, {}, (), {"g": {gone: 1}}, {}), 10
    )
    assert [row["records_per_s"] for row in found["topics"]] == [0.0, 0.0]
    assert found["groups"][0]["partitions"] == 0


def test_top_shows_our_broker_and_apache_kafka(broker: RunningBroker) -> None:
    servers, topic = broker.bootstrap_servers, f"top-{uuid.uuid4().hex[:8]}"
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])
    with Producer(bootstrap_servers=servers, transactional_id=topic) as producer:
        with producer.transaction():
            producer.send(topic, b"v")
        with Consumer(bootstrap_servers=servers, group_id=topic, enable_auto_commit=False) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.commit({TopicPartition(topic, 0): 0})
        producer.begin_transaction()
        producer.send_and_wait(topic, b"open")
        found = call("top", "--once", "--interval", 0.1, "--lines", 100_000, "-b", servers, "--json").done().json
        drawn = call("top", "--once", "--interval", 0.1, "--lines", 100_000, "-b", servers).done().out
        producer.abort_transaction()
    (row,) = [row for row in found["topics"] if row["topic"] == topic]
    assert (row["end"], row["held_back"]) == (3, 1)
    (transaction,) = [one for one in found["transactions"] if one["transactional_id"] == topic]
    assert transaction["state"] == "Ongoing" and transaction["partitions"] == 1
    (group,) = [one for one in found["groups"] if one["group"] == topic]
    assert (group["lag"], group["stable_lag"]) == (3, 2)
    assert topic in drawn and "Ongoing" in drawn


def test_ctrl_c_ends_top() -> None:
    with oncelog.Broker() as broker:
        command = [str(ONCELOG), "top", "--json", "--interval", "0.1", "-b", broker.bootstrap_servers]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline().startswith("{")
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 130


def test_top_writes_each_screen_to_a_pipe() -> None:
    """It got none before the end."""
    with oncelog.Broker() as broker:
        command = [str(ONCELOG), "top", "--interval", "0.1", "-b", broker.bootstrap_servers]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert "records/s in 0 partitions" in process.stdout.readline()
            assert any("records/s in 0 partitions" in line for line in process.stdout)
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 130


class _Deletes:
    """An admin client that lists a group and a topic, both of which have vanished by the time they are described."""

    def __init__(self, admin: Admin, topic: str) -> None:
        self._admin = admin
        self._topic = topic
        self._left = {"group", "topic"}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._admin, name)

    def list_topics(self, *, internal: bool) -> list[str]:
        found = self._admin.list_topics(internal=internal)
        if "topic" in self._left:
            self._left.remove("topic")
            self._admin.delete_topics([self._topic])
            while self._topic in self._admin.list_topics(internal=internal):  # brokers hear of it a little later
                time.sleep(0.01)
        return found

    def list_consumer_groups(self) -> list[Any]:
        found = self._admin.list_consumer_groups()
        if "group" in self._left:
            self._left.remove("group")
            self._admin.delete_consumer_groups([self._topic])
        return found


def test_topics_that_vanish_during_a_sample_are_left_out(broker: RunningBroker, unique_name: str) -> None:
    servers = broker.bootstrap_servers
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(unique_name, 1, 1), NewTopic(f"{unique_name}-stays", 1, 1)])
        admin.alter_consumer_group_offsets(unique_name, {TopicPartition(f"{unique_name}-stays", 0): 0})
        found = look(cast("Admin", _Deletes(admin, unique_name)), internal=False)
    assert not [name for name in found.ends if name.topic == unique_name]
    assert found.ends[TopicPartition(f"{unique_name}-stays", 0)] == 0
    assert not found.groups.get(unique_name)


def test_top_reports_a_broker_that_dies_and_comes_back() -> None:
    quick = ("-X", "default.api.timeout.ms=2000", "-X", "request.timeout.ms=1000")
    first = oncelog.Broker()
    first.start()
    address = first.bootstrap_servers
    command = [str(ONCELOG), "top", "--json", "--interval", "0.1", "-b", address, *quick]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        screens = map(json.loads, process.stdout)
        assert "records_per_s" in next(screens)
        first.stop()
        trouble = next(one["trouble"] for one in screens if "trouble" in one)
        assert address in trouble
        with oncelog.Broker(listen=address):
            assert next(one for one in screens if "trouble" not in one)["topics"] == []
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 130
