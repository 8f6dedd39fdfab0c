"""``oncelog groups``."""

from __future__ import annotations

import pytest

from tests.integration.cli.conftest import Served


@pytest.fixture
def group(served: Served, unique_name: str) -> str:
    """A group that has read 4 of 10 records of a topic of its name."""
    served.run("topics", "create", unique_name).done()
    served.run("produce", "--topic", unique_name, stdin="x\n" * 10).done()
    served.run(
        "consume", "--topic", unique_name, "--group", unique_name, "--from-beginning", "--max-messages", 4
    ).done()
    return unique_name


def _committed(served: Served, group: str) -> list[int | None]:
    (described,) = served.run("groups", "describe", group, "--json").done().json
    return [row["committed"] for row in described["offsets"]]


def test_describe_shows_offset_end_and_lag(served: Served, group: str) -> None:
    (described,) = served.run("groups", "describe", group, "--json").done().json
    assert (described["group"], described["state"], described["members"]) == (group, "Empty", [])
    (row,) = described["offsets"]
    assert {name: row[name] for name in ("topic", "partition", "committed", "end", "lag", "member")} == {
        "topic": group, "partition": 0, "committed": 4, "end": 10, "lag": 6, "member": None,
    }  # fmt: skip
    lines = served.run("groups", "describe", group).done().out.splitlines()
    assert lines[2].split() == [group, "0", "4", "10", "6", "-"]
    assert group in {row["group"] for row in served.run("groups", "list", "--json").done().json}


def test_offsets_can_be_reset_in_every_way(served: Served, group: str) -> None:
    def reset(*how: object) -> list[int]:
        rows = served.run("groups", "reset-offsets", group, "--topic", group, *how, "--json").done().json
        return [row["after"] for row in rows]

    assert reset("--shift-by", 3, "--dry-run") == [7]
    assert _committed(served, group) == [4]
    assert reset("--to-latest") == [10]
    assert reset("--shift-by", -2) == [8]
    assert reset("--to-offset", 99) == [10]
    assert reset("--to-datetime", "2h") == [0]  # kafka-consumer-groups --by-duration PT2H
    assert reset("--to-offset", 7) == [7]
    assert reset("--to-datetime", "2001-01-01") == [0]
    assert _committed(served, group) == [0]


def test_offsets_and_groups_are_deleted(served: Served, group: str) -> None:
    deleted = served.run("groups", "delete-offsets", group, "--topic", f"{group}:0", "--json").done()
    assert deleted.json == {"deleted": [f"{group}-0"]}
    served.run("groups", "reset-offsets", group, "--topic", group, "--to-earliest").done()
    served.run("groups", "delete", group).done()
    assert group not in {row["group"] for row in served.run("groups", "list", "--json").done().json}


def test_the_error_names_a_group_that_does_not_exist(served: Served, unique_name: str) -> None:
    assert f"group {unique_name!r} does not exist" in served.run("groups", "describe", unique_name).sentence()
    assert f"group {unique_name!r} does not exist" in served.run("groups", "delete", unique_name).sentence()


def test_offsets_of_a_group_with_members_are_not_reset(served: Served, group: str) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": served.bootstrap_servers, "group.id": group})
    try:
        consumer.subscribe([group])
        assert consumer.poll(120) is not None
        (described,) = served.run("groups", "describe", group, "--json").done().json
        assert [member["partitions"] for member in described["members"]] == [[f"{group}-0"]]
        refused = served.run("groups", "reset-offsets", group, "--all-topics", "--to-earliest")
        assert "has members (1); stop them" in refused.sentence()
        assert "has members" in served.run("groups", "delete", group).sentence()
    finally:
        consumer.close()
