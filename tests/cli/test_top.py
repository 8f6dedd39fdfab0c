"""``oncelog top``."""

from __future__ import annotations

import signal
import subprocess
import uuid

from oncelog.cli.top import Look, picture
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.cli.conftest import ONCELOG, call
from tests.conftest import RunningBroker

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def test_rates_are_the_difference_of_two_looks_and_the_busiest_come_first() -> None:
    before = Look(10.0, {A: 100, B: 50}, {A: 100, B: 50}, (), {"g": {B: 10}})
    after = Look(12.0, {A: 110, B: 150}, {A: 104, B: 150}, (), {"g": {A: 90, B: 40}})
    found = picture(before, after, 10)
    assert [(row["topic"], row["records_per_s"], row["held_back"]) for row in found["topics"]] == [
        ("b", 50.0, 0),
        ("a", 5.0, 6),
    ]
    (group,) = found["groups"]
    assert (group["records_per_s"], group["lag"], group["stable_lag"]) == (15.0, 130, 124)
    assert found["records_per_s"] == 55.0


def test_what_is_new_or_gone_or_began_anew_has_no_rate_below_zero() -> None:
    gone = TopicPartition("gone", 0)
    found = picture(Look(0.0, {A: 9, gone: 5}, {}, (), {}), Look(1.0, {A: 3, B: 7}, {}, (), {"g": {gone: 1}}), 10)
    assert [row["records_per_s"] for row in found["topics"]] == [0.0, 0.0]
    assert found["groups"][0]["partitions"] == 0


def test_a_cluster_is_shown_whoever_wrote_it(broker: RunningBroker) -> None:
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
        found = call("top", "--once", "--interval", 0.1, "--lines", 100, "-b", servers, "--json").done().json
        drawn = call("top", "--once", "--interval", 0.1, "--lines", 100, "-b", servers).done().out
        producer.abort_transaction()
    (row,) = [row for row in found["topics"] if row["topic"] == topic]
    assert (row["end"], row["held_back"]) == (3, 1)
    (transaction,) = [one for one in found["transactions"] if one["transactional_id"] == topic]
    assert transaction["state"] == "Ongoing" and transaction["partitions"] == 1
    (group,) = [one for one in found["groups"] if one["group"] == topic]
    assert (group["lag"], group["stable_lag"]) == (3, 2)
    assert topic in drawn and "Ongoing" in drawn


def test_ctrl_c_ends_it() -> None:
    import oncelog

    with oncelog.Broker() as broker:
        command = [str(ONCELOG), "top", "--json", "--interval", "0.1", "-b", broker.bootstrap_servers]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline().startswith("{")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
