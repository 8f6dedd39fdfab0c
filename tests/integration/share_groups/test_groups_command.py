"""``oncelog groups`` of share groups, on our broker and on Apache Kafka, beside Kafka's own tool."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, Message, Producer

from oncelog.client.blocking import Admin
from oncelog.errors import Error, KafkaError
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, run
from tests.support.apache_kafka import run_tool
from tests.support.share_groups import TIMEOUT_S, accept, make_topic_and_group, polled, share_consumer

RECORDS = 10
TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


class Command:
    """The command at one broker, and a share group of it that has read a topic of its name."""

    def __init__(self, servers: str, name: str) -> None:
        self.servers = servers
        self.name = name

    def __call__(self, *arguments: object) -> Outcome:
        return run("groups", *arguments, "--bootstrap-server", self.servers)

    def described(self, *options: str) -> Any:
        (group,) = self("describe", self.name, *options, "--json").done().json
        return group


def kind(message: Message) -> AcknowledgeType:
    """0 and 1 are accepted, 5 is rejected, 6 is accepted, the others are released."""
    accepted, rejected = (0, 1, 6), (5,)
    if message.offset() in accepted:
        return AcknowledgeType.ACCEPT
    return AcknowledgeType.REJECT if message.offset() in rejected else AcknowledgeType.RELEASE


@pytest.fixture
def groups(broker: RunningBroker, unique_name: str) -> Command:
    servers = broker.bootstrap_servers
    make_topic_and_group(servers, unique_name, unique_name, 2)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(RECORDS):
        producer.produce(unique_name, b"%d" % number, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    with share_consumer(servers, unique_name, unique_name) as consumer:
        polled(consumer, bool, kind)
    return Command(servers, unique_name)


def test_a_share_group_is_listed_by_its_type(groups: Command) -> None:
    def listed(*options: str) -> dict[str, str]:
        return {row["group"]: row["type"] for row in groups("list", *options, "--json").done().json}

    assert listed()[groups.name] == "share"
    assert listed("--type", "share")[groups.name] == "share"
    assert set(listed("--type", "share").values()) == {"share"}
    assert groups.name not in listed("--type", "consumer", "--type", "classic")


@pytest.mark.kafka
def test_describe_shows_start_offsets_and_lag_as_kafkas_tool_does(groups: Command) -> None:
    described = groups.described()
    assert (described["state"], described["type"], described["assignor"]) == ("Empty", "share", "simple")
    ends = [(row["partition"], row["end"]) for row in described["offsets"]]
    assert ends == [(0, RECORDS), (1, 0)]
    shown = run_tool(TOOL, "--bootstrap-server", groups.servers, "--describe", "--group", groups.name)
    rows = [line.split()[2:] for line in shown.splitlines() if line.startswith(groups.name)]
    ours = [[row["partition"], row["start"], row["lag"]] for row in described["offsets"]]
    assert [["-" if cell is None else str(cell) for cell in row] for row in ours] == rows
    assert described["offsets"][0]["lag"] == RECORDS - 4


def test_describe_shows_members_and_their_assignments(groups: Command) -> None:
    with share_consumer(groups.servers, groups.name, groups.name) as consumer:
        polled(consumer, bool, accept)
        described = groups.described()
        (member,) = described["members"]
        assert sorted(member["partitions"]) == [f"{groups.name}-0", f"{groups.name}-1"]
        assert described["state"] == "Stable"
        for refused in (("reset-offsets", groups.name, "--all-topics", "--to-earliest"), ("delete", groups.name)):
            assert "has members" in groups(*refused).sentence()
        assert "has members" in groups("delete-offsets", groups.name, "--topic", groups.name).sentence()


def test_deliveries_are_shown_as_they_are_stored(groups: Command) -> None:
    rows = groups.described("--deliveries")["deliveries"]
    assert [(row["first"], row["last"], row["state"], row["deliveries"]) for row in rows] == [
        (0, 1, "acknowledged", 1),
        (2, 4, "to be delivered again", 1),
        (5, 5, "given up", 1),
        (6, 6, "acknowledged", 1),
        (7, 9, "to be delivered again", 1),
    ]
    lines = groups("describe", groups.name, "--deliveries").done().out.splitlines()
    assert lines[5].split() == [groups.name, "0", "0", "1", "acknowledged", "1"]


def test_start_offsets_can_be_reset_in_every_way(groups: Command) -> None:
    def reset(*how: object) -> list[int]:
        return [row["after"] for row in groups("reset-offsets", groups.name, *how, "--json").done().json]

    first = ("--topic", f"{groups.name}:0")
    before = [row["start"] for row in groups.described()["offsets"]]
    assert reset(*first, "--to-offset", 4, "--dry-run") == [4]
    assert [row["start"] for row in groups.described()["offsets"]] == before
    assert reset(*first, "--to-offset", 4) == [4]
    assert reset(*first, "--shift-by", 3) == [7]
    assert reset("--all-topics", "--to-latest") == [RECORDS, 0]
    assert [(row["start"], row["lag"]) for row in groups.described()["offsets"]] == [(RECORDS, 0), (0, 0)]
    assert reset("--all-topics", "--to-earliest") == [0, 0]
    with share_consumer(groups.servers, groups.name, groups.name) as consumer:
        found = polled(consumer, lambda messages: len(messages) == RECORDS, accept)
    assert [each.offset() for each in found] == list(range(RECORDS))


def test_offsets_and_share_groups_are_deleted(groups: Command) -> None:
    refused = groups("delete-offsets", groups.name, "--topic", f"{groups.name}:0").sentence()
    assert f"give --topic {groups.name}; to deliver one partition again, use reset-offsets" in refused
    deleted = groups("delete-offsets", groups.name, "--topic", groups.name, "--json").done().json
    assert deleted == {"deleted": [f"{groups.name}-0", f"{groups.name}-1"]}
    assert groups.described()["offsets"] == []
    groups("delete", groups.name).done()
    assert "does not exist" in groups("describe", groups.name).sentence()
    assert "does not exist" in groups("delete", groups.name).sentence()


def test_a_share_group_has_no_committed_offsets(groups: Command) -> None:
    """To those who ask as for a consumer group, and it takes none."""
    name = TopicPartition(groups.name, 0)
    with Admin(bootstrap_servers=groups.servers) as admin:
        assert admin.list_consumer_group_offsets(groups.name) == {}
        assert admin.list_consumer_group_offsets(groups.name, [name]) == {}
        with pytest.raises(KafkaError) as refused:
            admin.alter_consumer_group_offsets(groups.name, {name: 1})
    assert refused.value.error is Error.GROUP_ID_NOT_FOUND


def test_top_shows_the_lag_as_the_broker_counts_it(groups: Command) -> None:
    screen = (
        run("top", "--once", "--interval", 0.1, "--lines", 1000, "--json", "--bootstrap-server", groups.servers)
        .done()
        .json
    )
    (row,) = [row for row in screen["groups"] if row["group"] == groups.name]
    assert (row["lag"], row["stable_lag"]) == (RECORDS - 4, None)


def test_the_option_deliveries_is_refused_for_groups_that_are_not_share_groups(groups: Command) -> None:
    classic = f"{groups.name}-classic"
    groups("reset-offsets", classic, "--topic", groups.name, "--to-earliest").done()
    assert "is not a share group" in groups("describe", classic, "--deliveries").sentence()
