"""``oncelog topics``."""

from __future__ import annotations

from tests.integration.cli.conftest import Served


def test_topics_are_created_listed_and_deleted(served: Served, unique_name: str) -> None:
    name = unique_name
    created = served.run(
        "topics", "create", name, "--partitions", 2, "--set-config", "retention.ms=5000", "--json"
    ).done()
    assert created.json == {"created": [name]}
    assert name in served.run("topics", "list").done().out.splitlines()

    altered = served.run("topics", "alter", name, "--partitions", 3, "--set-config", "cleanup.policy=compact",
                         "--delete-config", "retention.ms", "--json").done()  # fmt: skip
    assert altered.json == {"changed": [name]}
    (described,) = served.run("topics", "describe", name, "--json").done().json
    assert described["topic"] == name
    assert described["configs"] == {"cleanup.policy": "compact"}
    assert [row["partition"] for row in described["partitions"]] == [0, 1, 2]
    assert described["partitions"][0]["high_watermark"] == 0

    served.run("topics", "delete", name).done()
    assert name not in served.run("topics", "list", "--json").done().json


def test_describe_shows_a_table_and_the_settings_that_were_set(served: Served, unique_name: str) -> None:
    served.run("topics", "create", unique_name, "--set-config", "retention.ms=5000").done()
    lines = served.run("topics", "describe", unique_name).done().out.splitlines()
    assert lines[0].startswith(f"{unique_name}  id ")
    assert lines[1] == "  retention.ms=5000"
    assert lines[2].split() == ["PARTITION", "LEADER", "REPLICAS", "ISR", "LOG-START-OFFSET", "LAST-STABLE-OFFSET",
                                "HIGH-WATERMARK"]  # fmt: skip
    assert lines[3].split() == ["0", "1", "1", "1", "0", "0", "0"]


def test_create_accepts_existing_topics_only_with_if_not_exists(served: Served, unique_name: str) -> None:
    served.run("topics", "create", unique_name).done()
    refused = served.run("topics", "create", unique_name)
    assert refused.code == 1
    assert "already exists" in refused.sentence()
    assert served.run("topics", "create", unique_name, "--if-not-exists", "--json").done().json == {"created": []}


def test_changes_made_before_a_refusal_are_shown(served: Served, unique_name: str) -> None:
    """Each of several topics is tried; only the refusal was told."""
    a, b, taken = f"{unique_name}-a", f"{unique_name}-b", f"{unique_name}-taken"
    served.run("topics", "create", taken).done()
    part = served.run("topics", "create", a, taken, b)
    assert part.out.split() == ["created", a, "created", b]
    assert "already exists" in part.sentence()
    gone = served.run("topics", "delete", a, f"{unique_name}-never", b, "--json")
    assert gone.json == {"deleted": [a, b]}
    assert "does not exist" in gone.sentence()
    assert served.run("topics", "delete", f"{unique_name}-never", a).out == ""


def test_a_topic_without_a_name_is_wrong_usage(served: Served) -> None:
    refused = served.run("topics", "create", "")
    assert refused.code == 2
    assert "a name must not be empty" in refused.sentence()


def test_configs_shows_the_source_of_each_value(served: Served, unique_name: str) -> None:
    served.run("topics", "create", unique_name, "--set-config", "retention.ms=5000").done()
    rows = {row["name"]: row for row in served.run("topics", "configs", unique_name, "--json").done().json}
    assert rows["retention.ms"] == {"name": "retention.ms", "value": "5000", "source": "DYNAMIC_TOPIC_CONFIG"}
    assert rows["cleanup.policy"]["source"] == "DEFAULT_CONFIG"
