"""The options that users of kcat and of Kafka's own tools type every day."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.integration.cli.conftest import ONCELOG, Served, call, run


@pytest.fixture
def topic(served: Served, unique_name: str) -> str:
    """Twenty records in two partitions, a second apart, just after 1970 began (not at 0, which would mean now)."""
    served.run("topics", "create", unique_name, "--partitions", 2).done()
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    for number in range(20):
        producer.produce(
            unique_name,
            str(number),
            key="k",
            partition=number % 2,
            timestamp=number * 1000 + 1,
            headers={"n": str(number)},
        )
    producer.flush()
    return unique_name


def _values(served: Served, topic: str, *options: object) -> list[int]:
    return sorted(int(line) for line in served.run("consume", "-t", topic, "-e", *options).done().out.splitlines())


def test_consume_shows_the_last_records_of_each_partition(served: Served, topic: str) -> None:
    assert _values(served, topic, "-o", -3) == [14, 15, 16, 17, 18, 19]
    assert _values(served, topic, "-o", -3, "-p", 1) == [15, 17, 19]
    assert _values(served, topic, "-o", -1000) == list(range(20))


def test_reading_starts_and_ends_at_given_times(served: Served, topic: str) -> None:
    assert _values(served, topic, "--since", "1970-01-01T00:00:15") == [15, 16, 17, 18, 19]
    assert _values(served, topic, "-o", "s@15000") == [15, 16, 17, 18, 19]
    assert _values(served, topic, "--since", 5000, "--until", 8000) == [5, 6, 7]
    assert _values(served, topic, "--since", "1m") == []


def test_consume_prints_records_by_a_format_string(served: Served, topic: str) -> None:
    shown = served.run("consume", "-t", topic, "-o", 4, "-p", 0, "-c", 1, "-f", r"%t/%p@%o %T %k=%s [%h]\n").done()
    assert shown.out == f"{topic}/0@4 8001 k=8 [n=8]\n"
    assert "which is unknown" in served.run("consume", "-t", topic, "-f", "%q").sentence()
    assert "text, json or a format" in served.run("consume", "-t", topic, "-f", "yaml").sentence()


def test_two_start_options_are_refused(served: Served, topic: str) -> None:
    for starts in (("-o", 1, "--since", "1h"), ("--from-beginning", "-o", 1), ("--from-beginning", "--since", "1h")):
        assert "exclude each other" in served.run("consume", "-t", topic, *starts).sentence()


def _group_file(folder: Path, group: str, *lines: str) -> Path:
    path = folder / "consumer.properties"
    path.write_text("\n".join([f"group.id={group}", *lines]))
    return path


@pytest.mark.parametrize("from_file", [True, False])
def test_a_new_group_reads_all_records_from_the_beginning_and_stops_at_the_end(
    served: Served, topic: str, from_file: bool, tmp_path: Path
) -> None:
    """As Kafka's console consumer does; the next time nothing is left."""
    group = ("-F", _group_file(tmp_path, f"g-{topic}")) if from_file else ("-g", f"g-{topic}")
    assert _values(served, topic, *group, "--from-beginning") == list(range(20))
    assert _values(served, topic, *group, "--from-beginning") == []


def test_a_group_does_not_commit_records_that_were_not_shown(served: Served, topic: str) -> None:
    """The records from 15 s on are fetched with the earlier ones, and not shown."""
    group = ("-g", f"g-{topic}", "--from-beginning")
    assert _values(served, topic, *group, "--until", 15_000) == list(range(15))
    assert _values(served, topic, *group) == [15, 16, 17, 18, 19]


def test_without_a_committed_offset_auto_offset_reset_of_the_file_decides_the_start(
    served: Served, topic: str, tmp_path: Path
) -> None:
    earliest = _group_file(tmp_path, f"g-{topic}", "auto.offset.reset=earliest")
    assert _values(served, topic, "-F", earliest) == list(range(20))
    assert _values(served, topic, "-X", "auto.offset.reset=earliest") == list(range(20))
    assert _values(served, topic, "-X", "auto.offset.reset=earliest", "-o", "end") == []
    assert _values(served, topic, "-X", "auto.offset.reset=latest", "--from-beginning") == list(range(20))


def test_options_that_contradict_a_group_are_named_in_the_refusal(served: Served, topic: str, tmp_path: Path) -> None:
    for options in (("--since", "1h"), ("-o", 1), ("-p", 1)):
        assert "--group leaves" in served.run("consume", "-t", topic, "-g", "g", *options).sentence()
        reported = served.run("consume", "-t", topic, "-F", _group_file(tmp_path, "g"), *options).sentence()
        assert "group.id leaves partitions and positions to the group: drop group.id or --" in reported


def test_a_group_in_the_properties_file_does_not_prevent_showing_transactions(
    served: Served, topic: str, tmp_path: Path
) -> None:
    shown = served.run("consume", "-t", topic, "-F", _group_file(tmp_path, "g"), "--show-transactions", "-e", "-J")
    assert len(shown.done().json_lines) == 20


def test_consume_shows_the_outcomes_of_the_last_records(served: Served, topic: str) -> None:
    shown = served.run("consume", "-t", topic, "--show-transactions", "-e", "-o", -1, "-J").done().json_lines
    assert sorted(line["value"] for line in shown) == ["18", "19"]


def test_cluster_shows_nodes_and_partitions(served: Served, topic: str) -> None:
    shown = served.run("cluster", "--partitions", "-J").done().json
    assert [node["address"] for node in shown["nodes"]] == [served.bootstrap_servers]
    assert [row["leader"] for row in shown["partitions"] if row["topic"] == topic] == [1, 1]
    assert topic in served.run("cluster", "--partitions").done().out
    assert topic not in served.run("cluster").done().out


def test_get_offsets_lists_earliest_and_latest_offsets_and_offsets_by_time(served: Served, topic: str) -> None:
    def offsets(*options: object) -> list[int | None]:
        rows = served.run("get-offsets", "-t", topic, *options, "-J").done().json
        return [row["offset"] for row in rows]

    assert offsets() == [10, 10]
    assert offsets("--time", "earliest") == [0, 0]
    assert offsets("--time", "max-timestamp") == [9, 9]
    assert offsets("--time", "1970-01-01T00:00:15") == [8, 7]
    assert offsets("--time", "1970-02-01") == [None, None]
    assert "--time takes" in served.run("get-offsets", "-t", topic, "--time", "noon").sentence()
    assert "does not exist" in served.run("get-offsets", "-t", "nowhere").sentence()


def test_records_are_deleted_up_to_an_offset(served: Served, topic: str) -> None:
    rows = served.run("delete-records", "-t", f"{topic}:1", "--before", 4, "-J").done().json
    assert [(row["partition"], row["log_start_offset"]) for row in rows] == [(1, 4)]
    assert _values(served, topic, "-o", "beginning", "-p", 1) == [9, 11, 13, 15, 17, 19]
    assert served.run("delete-records", "-t", topic, "--before", "end", "-J").done().json[0]["log_start_offset"] == 10
    assert _values(served, topic, "-o", "beginning") == []
    assert "OFFSET_OUT_OF_RANGE" in served.run("delete-records", "-t", topic, "--before", 99).sentence()
    assert "--before takes" in served.run("delete-records", "-t", topic, "--before", "x").sentence()


def test_settings_are_shown_and_changed(served: Served, topic: str) -> None:
    served.run("configs", "alter", "topic", topic, "--set-config", "retention.ms=1000").done()
    changed = served.run("configs", "describe", "topic", topic, "--changed", "-J").done().json
    assert [(row["name"], row["value"]) for row in changed if row["source"] == "DYNAMIC_TOPIC_CONFIG"] == [
        ("retention.ms", "1000")
    ]
    served.run("configs", "alter", "topic", topic, "--set-config", "retention.ms=7", "--dry-run").done()
    assert "1000" in served.run("configs", "describe", "topic", topic, "--changed").done().out
    served.run("configs", "alter", "topic", topic, "--delete-config", "retention.ms").done()
    assert "retention.ms" not in served.run("configs", "describe", "topic", topic, "--changed").done().out
    assert served.run("configs", "describe", "broker", 1, "-J").done().json
    assert "number" in served.run("configs", "describe", "broker", "one").sentence()
    assert "does not exist" in served.run("configs", "describe", "topic", "nowhere").sentence()
    assert "nothing to change" in served.run("configs", "alter", "topic", topic).sentence()


@pytest.mark.parametrize("broker", [1, "default"])
def test_an_unknown_broker_setting_is_reported(served: Served, broker: object) -> None:
    """Apache Kafka accepts an unknown setting, since a plugin may know it.

    An operator's typo must not pass in silence.
    """
    alter = ["configs", "alter", "broker", broker]
    for dry_run in (["--dry-run"], []):
        reported = served.run(*alter, "--set-config", "log.retention.mss=1", *dry_run).done()
        (line,) = reported.err.splitlines()
        assert line.startswith("warning: the broker has no setting 'log.retention.mss'")
        assert line.endswith("did you mean log.retention.ms?")
    assert not served.run(*alter, "--delete-config", "log.retention.mss").done().err
    assert not served.run(*alter, "--set-config", "log.cleaner.threads=1").done().err
    served.run(*alter, "--delete-config", "log.cleaner.threads").done()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_each_shell(shell: str) -> None:
    assert "_ONCELOG_COMPLETE" in call("completion", shell).done().out


def test_zshs_completion_system_is_started_if_needed() -> None:
    """A new .zshrc has no compinit: nothing was completed."""
    script = call("completion", "zsh").done().out
    assert script.index("autoload -Uz compinit && compinit") < script.index("compdef _oncelog_completion oncelog")


def _completed(served: Served, words: str, number: int) -> list[str]:
    environment = {
        "_ONCELOG_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(number),
        "ONCELOG_BOOTSTRAP_SERVER": served.bootstrap_servers,
    }
    return [line.partition(",")[2] for line in run(env=environment).out.splitlines()]


def test_topics_and_groups_are_completed(served: Served, topic: str) -> None:
    assert _completed(served, f"oncelog consume -t {topic[:-2]}", 3) == [topic]
    assert topic in _completed(served, "oncelog topics describe ", 3)
    served.run("consume", "-t", topic, "-g", f"group-{topic}", "--from-beginning", "-c", 1).done()
    assert _completed(served, f"oncelog groups describe group-{topic}", 3) == [f"group-{topic}"]
    assert "consume" in _completed(served, "oncelog con", 1)
    assert _completed(served, f"oncelog acls add --topic {topic[:-2]}", 4) == [topic]
    assert _completed(served, f"oncelog acls list --group group-{topic}", 4) == [f"group-{topic}"]
    assert _completed(served, f"oncelog groups reset-offsets group-{topic} --topic {topic[:-2]}", 5) == [topic]
    assert _completed(served, f"oncelog groups delete-offsets group-{topic} -t {topic[:-2]}", 5) == [topic]
    assert _completed(served, f"oncelog configs describe topic {topic[:-2]}", 4) == [topic]
    assert _completed(served, f"oncelog configs alter group group-{topic}", 4) == [f"group-{topic}"]
    assert _completed(served, "oncelog configs describe broker ", 4) == ["default", "1"]


def test_completion_without_a_broker_suggests_nothing(tmp_path: Path) -> None:
    environment = {
        "_ONCELOG_COMPLETE": "bash_complete",
        "COMP_WORDS": "oncelog consume -t ",
        "COMP_CWORD": "3",
        "ONCELOG_BOOTSTRAP_SERVER": "127.0.0.1:1",
    }
    ended = run(env=environment)
    assert (ended.code, ended.out.strip(), ended.err) == (0, "", "")


def test_bash_can_read_the_completion_script() -> None:
    script = subprocess.run([ONCELOG, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
