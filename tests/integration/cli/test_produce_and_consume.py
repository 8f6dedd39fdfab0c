"""``oncelog produce`` and ``oncelog consume``."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.integration.cli.conftest import ONCELOG, Served


@pytest.fixture
def topic(served: Served, unique_name: str) -> str:
    served.run("topics", "create", unique_name).done()
    return unique_name


def _read(served: Served, topic: str) -> list[tuple[Any, ...]]:
    """What another client reads with read_committed."""
    settings = {"bootstrap.servers": served.bootstrap_servers, "group.id": "x", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[Any, ...]] = []
    try:
        while True:
            message = consumer.poll(60)
            assert message is not None
            if message.error():
                return found
            found.append((message.key(), message.value(), message.headers()))
    finally:
        consumer.close()


def test_each_line_becomes_a_record(served: Served, topic: str) -> None:
    made = served.run("produce", "--topic", topic, "--header", "origin=test", stdin="a\n\nzwei ü\r\nlast").done()
    assert made.out == f"4 records acknowledged in {topic}\n"
    header = [("origin", b"test")]
    assert _read(served, topic) == [
        (None, b"a", header),
        (None, b"", header),
        (None, "zwei ü".encode(), header),
        (None, b"last", header),
    ]


def test_a_line_is_split_at_the_first_key_separator(served: Served, topic: str) -> None:
    served.run("produce", "--topic", topic, "--key-separator", "::", stdin="k::v::w\n::no key\n").done()
    assert _read(served, topic) == [(b"k", b"v::w", None), (b"", b"no key", None)]


def test_tombstones_are_written_and_distinguished_from_text_that_reads_null(served: Served, topic: str) -> None:
    lines = "a\tNULL\nb\tnull\nNULL\t\n"
    served.run(
        "produce", "-t", topic, "-K", "\\t", "--null-marker", "NULL", "-H", "h=NULL", "-H", "g=null", stdin=lines
    ).done()
    headers = [("h", None), ("g", b"null")]
    assert _read(served, topic) == [(b"a", None, headers), (b"b", b"null", headers), (None, b"", headers)]
    read = ("consume", "-t", topic, "--from-beginning", "-e", "-K", "\\t")
    assert served.run(*read).done().out == 'a\tnull\nb\t"null"\nnull\t\n'
    assert served.run(*read, "--null-marker", "NULL").done().out == lines
    reported = served.run("consume", "-t", topic, "--show-transactions", "-e", "--null-marker", "-").done().out
    assert [line.split("\t")[4:] for line in reported.splitlines()[1:]] == [["a", "-"], ["b", "null"], ["-", ""]]
    reported = served.run("consume", "-t", topic, "--show-transactions", "-e", "--null-marker", "").done().out
    assert [line.split("\t")[4:] for line in reported.splitlines()[1:]] == [["a", ""], ["b", "null"], ["", '""']]
    reported = served.run(*read[:-2], "--format", "%k=%s %h\\n", "--null-marker", "").done().out
    assert reported.splitlines() == ["a= h=,g=null", "b=null h=,g=null", "= h=,g=null"]
    reported = served.run("consume", "-t", topic, "--from-beginning", "-e", "--show", "headers").done().out
    assert reported.splitlines()[0] == 'h=null,g="null"\tnull'


def test_a_null_marker_with_json_is_refused(served: Served, topic: str) -> None:
    refused = served.run("produce", "-t", topic, "--json-lines", "--null-marker", "N", stdin="{}")
    assert "--json-lines and --null-marker exclude each other" in refused.sentence()
    assert "drop it" in served.run("consume", "-t", topic, "--json", "--null-marker", "N", "-e").sentence()


def test_the_error_names_a_line_without_the_separator_and_earlier_records_are_kept(served: Served, topic: str) -> None:
    made = served.run("produce", "--topic", topic, "--key-separator", ":", stdin="k:v\nodd\nk:w\n")
    assert "line 2" in made.sentence()
    assert made.out == f"1 record acknowledged in {topic}\n"
    assert _read(served, topic) == [(b"k", b"v", None)]


def test_json_lines_carry_keys_headers_partition_and_bytes(served: Served, topic: str) -> None:
    lines = [
        {"key": "k", "value": "v", "headers": {"h": "1"}, "partition": 0, "timestamp": 1234},
        {"value": None},
        {"key": None, "value": {"base64": "/wA="}, "headers": [["h", "1"], ["h", None]]},
        {"value": {"a": [1, 2]}},
    ]
    served.run("produce", "--topic", topic, "--json-lines", stdin="\n".join(map(json.dumps, lines))).done()
    assert _read(served, topic) == [
        (b"k", b"v", [("h", b"1")]),
        (None, None, None),
        (None, b"\xff\x00", [("h", b"1"), ("h", None)]),
        (None, b'{"a":[1,2]}', None),
    ]


def test_produce_accepts_the_json_that_consume_writes(served: Served, topic: str, unique_name: str) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    producer.produce(topic, key=b"\xff", value=b"v", headers=[("h", b"1"), ("h", None)], timestamp=1700000000000)
    producer.produce(topic, value=None)
    producer.flush()
    first = served.run("consume", "--topic", topic, "--from-beginning", "--to-end", "--json").done()
    served.run("produce", "--topic", f"{topic}-copy", "--json-lines", stdin=first.out).done()
    second = served.run("consume", "--topic", f"{topic}-copy", "--from-beginning", "--to-end", "--json").done()
    assert [{**line, "topic": topic} for line in second.json_lines] == first.json_lines
    assert first.json_lines[0]["timestamp"] == 1700000000000


def test_a_transaction_commits_all_of_the_input_or_nothing(served: Served, topic: str) -> None:
    bad = served.run("produce", "--topic", topic, "--json-lines", "--transactional-id", f"{topic}-1", stdin='{"value":"a"}\nnot json\n')  # fmt: skip  # noqa: E501
    assert "line 2" in bad.sentence()
    assert "1 record aborted" in bad.out
    good = served.run("produce", "--topic", topic, "--transactional-id", f"{topic}-1", "--transaction-size", 2, "--json", stdin="b\nc\nd\n")  # fmt: skip  # noqa: E501
    assert good.done().json == {"topic": topic, "sent": 3, "acknowledged": 3, "failed": 0, "transactions": 2}
    assert [value for _, value, _ in _read(served, topic)] == [b"b", b"c", b"d"]


def test_the_command_line_overrides_producer_properties_of_a_file(served: Served, topic: str, tmp_path: Path) -> None:
    config = tmp_path / "producer.config"
    config.write_text("# as Kafka's tools take it\nacks=1\ncompression.type=zstd\nbootstrap.servers=127.0.0.1:1\n")
    made = served.run("produce", "--topic", topic, "--config", config, "--set", "acks=all",
                      "--bootstrap-server", served.bootstrap_servers, stdin="v\n")  # fmt: skip
    made.done()
    assert [value for _, value, _ in _read(served, topic)] == [b"v"]


def test_idempotence_with_one_ack_is_refused_before_anything_is_sent(
    served: Served, topic: str, tmp_path: Path
) -> None:
    config = tmp_path / "producer.config"
    config.write_text("enable.idempotence=true\nacks=1\n")
    refused = served.run("produce", "--topic", topic, "--config", config, stdin="v\n")
    assert "acks=1 contradicts enable.idempotence=true" in refused.sentence()
    assert _read(served, topic) == []


def test_a_record_that_is_refused_fails_the_command_and_is_counted(served: Served, topic: str) -> None:
    sizes = ("--set", "max.request.size=200", "--set", "batch.size=100")
    refused = served.run("produce", "--topic", topic, *sizes, stdin=f"fine\n{'x' * 500}\n")
    assert "1 of 2 records were not acknowledged" in refused.sentence()
    assert "max.request.size" in refused.sentence()
    assert refused.out == f"1 record acknowledged in {topic}\n"
    assert [value for _, value, _ in _read(served, topic)] == [b"fine"]


def test_consume_shows_only_committed_records_by_default(served: Served, topic: str) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap_servers, "transactional.id": f"{topic}-1"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"aborted")
    producer.flush()
    producer.abort_transaction()
    producer.begin_transaction()
    producer.produce(topic, b"committed")
    producer.commit_transaction()
    seen = served.run("consume", "--topic", topic, "--from-beginning", "--to-end").done()
    assert seen.out == "committed\n"
    every = served.run("consume", "--topic", topic, "--from-beginning", "--to-end", "--isolation", "read_uncommitted")
    assert every.done().out == "aborted\ncommitted\n"


def test_consume_begins_and_ends_at_the_given_offsets(served: Served, topic: str) -> None:
    served.run("produce", "--topic", topic, stdin="".join(f"{n}\n" for n in range(10))).done()
    some = served.run(
        "consume", "--topic", topic, "--partition", 0, "--offset", 4, "--max-messages", 3, "--show", "offset"
    )
    assert some.done().out == "4\t4\n5\t5\n6\t6\n"
    assert some.err == "3 records\n"
    assert served.run("consume", "--topic", topic, "--timeout", "0.2").done().out == ""


def test_a_group_continues_at_its_position(served: Served, topic: str) -> None:
    served.run("produce", "--topic", topic, "--key-separator", ":", stdin="a:1\nb:2\nc:3\n").done()
    arguments = ("consume", "--topic", topic, "--group", topic, "--from-beginning", "--key-separator", "=")
    assert served.run(*arguments, "--max-messages", 2).done().out == "a=1\nb=2\n"
    assert served.run(*arguments, "--max-messages", 1).done().out == "c=3\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_consume_quietly_and_commits_shown_records(
    served: Served, topic: str, number: signal.Signals
) -> None:
    served.run("produce", "--topic", topic, stdin="a\nb\n").done()
    process = subprocess.Popen(
        [ONCELOG, "consume", "--topic", topic, "--group", topic, "--from-beginning", "--bootstrap-server",
         served.bootstrap_servers],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_as_in_a_terminal,
    )  # fmt: skip
    assert process.stdout is not None
    assert [process.stdout.readline(), process.stdout.readline()] == ["a\n", "b\n"]
    process.send_signal(number)
    _, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "2 records\n")
    (described,) = served.run("groups", "describe", topic, "--json").done().json
    assert [row["committed"] for row in described["offsets"]] == [2]


def test_records_that_could_not_be_shown_are_not_committed(served: Served, topic: str) -> None:
    served.run("produce", "--topic", topic, stdin="a\nb\n").done()
    arguments = ["consume", "--topic", topic, "--group", topic, "--from-beginning", "--to-end"]
    command: list[str] = [str(ONCELOG), *arguments, "--bootstrap-server", served.bootstrap_servers]
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=300)
    assert (failed.returncode, failed.stderr) == (1, "oncelog: nothing more can be written: No space left on device\n")
    assert served.run(*arguments).done().out == "a\nb\n"
    assert served.run(*arguments).done().out == ""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1)]
)
def test_a_signal_aborts_the_open_transaction_of_produce_and_is_reported(
    served: Served, topic: str, number: signal.Signals, status: int
) -> None:
    process = subprocess.Popen(
        [ONCELOG, "produce", "--topic", topic, "--transactional-id", topic, "--bootstrap-server",
         served.bootstrap_servers],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_as_in_a_terminal,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write("a\n" * 100)
    process.stdin.flush()
    while served.run("get-offsets", "--topic", topic, "--json").done().json[0]["offset"] < 100:
        pass  # all are in the log, and the input goes on
    process.send_signal(number)
    out, _ = process.communicate(timeout=300)
    reported = f"0 records acknowledged in {topic}, 0 transactions committed, 100 records aborted with the last one\n"
    assert (process.returncode, out) == (status, reported)
    (listed,) = served.run("transactions", "describe", topic, "--json").done().json
    assert listed["state"] == "CompleteAbort"


def _as_in_a_terminal() -> None:  # the tests may run under nohup, and children inherit that
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def test_a_closed_pipe_ends_consume_quietly(served: Served, topic: str) -> None:
    served.run("produce", "--topic", topic, stdin="some value\n" * 30_000).done()
    command = (
        f"{ONCELOG} consume --topic {topic} --from-beginning --to-end --bootstrap-server {served.bootstrap_servers}"
    )
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "some value\n" * 2, "")
