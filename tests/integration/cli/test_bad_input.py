"""Bad input ends in one clear sentence that names the thing and the next step, and harms nobody else."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.integration.cli.conftest import ONCELOG, SECONDS, Serve, Served, call, run

SERVE = ("serve", "--listen", "127.0.0.1:0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("serve", "--lissen", "x"), ["--lissen", "Did you mean", "oncelog serve --help"]),
        (("serfe",), ["no command 'serfe'; did you mean serve? See oncelog --help"]),
        (("topic", "list"), ["no command 'topic'; did you mean topics?"]),
        (("xyz",), ["no command 'xyz'; the commands are serve, topics, ", "oncelog --help"]),
        (("consume", "--topic", "t", "--max-messages", "few"), ["--max-messages", "few", "oncelog consume --help"]),
        (("topics", "create", "t", "--partitions", "x"), ["--partitions", "'x' is not a valid whole number"]),
        (("users", "set", "alice", "--mechanism", "SCRAM-SHA-256"), ["no terminal", "--password-file"]),
        (("topics", "create"), ["NAMES", "oncelog topics create --help"]),
        (("serve", "--config", "no-such-file"), ["--config", "no-such-file"]),
        (("serve", "--config", "a=b"), ["it takes a properties file; for a property, --set a=b"]),
        (("topics", "create", "t", "--config", "retention.ms=9"), ["for a property, --set-config retention.ms=9"]),
        (("configs", "alter", "topic", "t", "--config", "retention.ms=9"), ["--set-config retention.ms=9"]),
        (("consume", "--topic", "\udcff"), ["text in UTF-8", "oncelog consume --help"]),
        (("consume", "--topic", ""), ["a name must not be empty", "oncelog consume --help"]),
        (("topics", "delete", "t", ""), ["a name must not be empty", "oncelog topics delete --help"]),
        (("groups", "describe", ""), ["a name must not be empty", "oncelog groups describe --help"]),
    ],
)
def test_a_wrong_option_is_reported_as_wrong_usage(arguments: tuple[str, ...], words: list[str]) -> None:
    failed = call(*arguments)
    assert failed.code == 2
    for word in words:
        assert word in failed.sentence()


def test_the_option_console_allow_changes_is_refused_without_the_option_console() -> None:
    """It had no effect."""
    assert "needs --console HOST:PORT" in call(*SERVE, "--console-allow-changes").sentence()


def test_a_wrong_token_is_refused_before_the_cluster_is_contacted() -> None:
    """It was an unexpected error, and the producer whose transaction it is about had been fenced by then."""
    reported = call("transactions", "complete", "orders-1", "--token", "4x", "-b", "127.0.0.1:1").sentence()
    assert reported == (
        "oncelog: --token: '4x' is not a token of prepare(): it is PRODUCER_ID:EPOCH, or '' if the database has none"
    )


def test_output_to_a_full_disk_is_reported_in_one_sentence(served: Served) -> None:
    command = [str(ONCELOG), "cluster", "--bootstrap-server", served.bootstrap_servers]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=SECONDS)
    assert (ended.returncode, ended.stderr) == (1, "oncelog: nothing more can be written: No space left on device\n")


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("topics", "--help")])
def test_the_output_of_version_and_help_to_a_full_disk_is_reported_in_one_sentence(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [str(ONCELOG), *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=SECONDS
        )
    assert (ended.returncode, ended.stderr) == (1, "oncelog: nothing more can be written: No space left on device\n")


def test_ctrl_c_during_imports_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(600)\n")
    command = [sys.executable, "-c", "from oncelog.cli import run; run()"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as importing:
        assert importing.stdout is not None
        assert importing.stdout.readline() == "importing\n"
        importing.send_signal(signal.SIGINT)
        _, printed = importing.communicate(timeout=SECONDS)
    assert (importing.returncode, printed) == (-signal.SIGINT, "")


def test_missing_transactional_ids_and_partitions_are_reported(served: Served) -> None:
    for words in (("describe", "nope"), ("fence", "nope"), ("complete", "nope", "--token", "1:1")):
        assert "transactional id 'nope' does not exist" in served.run("transactions", *words).sentence(), words
    served.run("topics", "create", "short", "--partitions", "1").done()
    assert (
        served.run("get-offsets", "-t", "short:3")
        .sentence()
        .endswith("has no partition 3; its only partition is 0 [UNKNOWN_TOPIC_OR_PARTITION]")
    )
    assert "takes earliest, latest, max-timestamp" in served.run("get-offsets", "--time", "max").sentence()
    assert served.run("get-offsets", "-t", "short", "--time", "-2").done().out.split()[-1] == "0"
    assert served.run("delete-records", "-t", "short", "--before", "-1").done().out.split()[-1] == "0"
    refused = served.run("delete-records", "-t", "short:0", "--before", "7").sentence()
    assert "before 7 were not deleted: the partition ends before that offset" in refused
    assert refused.endswith("; --before end deletes all there are")
    served.run("topics", "create", "kept", "--partitions", "1", "--set-config", "cleanup.policy=compact").done()
    refused = served.run("delete-records", "-t", "kept", "--before", "end").sentence()
    assert "records of kept-0 up to the high watermark were not deleted: cleanup.policy" in refused
    assert "-1" not in refused and "cleanup.policy=compact,delete" in refused


def test_acls_of_a_broker_without_an_authorizer_are_refused_and_the_error_names_the_setting(served: Served) -> None:
    assert "authorizer.class.name=org.apache.kafka" in served.run("acls", "list").sentence()


def test_a_wrong_option_ends_the_process_with_status_2() -> None:
    failed = run("serve", "--lissen", "x")
    assert (failed.code, failed.out) == (2, "")
    assert "no such option '--lissen'" in failed.sentence()


def test_an_unknown_broker_property_is_refused_and_the_nearest_name_suggested() -> None:
    failed = run(*SERVE, "--set", "num.partition=3")
    assert failed.code == 1
    assert "'num.partition'; did you mean num.partitions?" in failed.sentence()
    assert "num.partitions" in call(*SERVE, "--set", "num.partitions=none").sentence()


def test_the_error_names_an_unknown_property_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("num.partitions=3\nlog.dir.s=x\n")
    assert "log.dir.s" in call(*SERVE, "--config", tmp_path / "server.properties").sentence()


def test_the_error_names_an_unknown_producer_property(served: Served) -> None:
    failed = served.run("produce", "--topic", "t", "--set", "ack=all", stdin="v\n")
    assert "'ack'; did you mean acks?" in failed.sentence()


def test_a_missing_java_is_reported_and_an_install_command_suggested(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[source]\n")
    failed = run("pipeline", "run", tmp_path / "p.toml", env={"PATH": "/nonexistent", "JAVA_HOME": ""})
    assert "Java 17" in failed.sentence()
    assert "install" in failed.sentence()


def test_the_error_names_a_port_that_is_in_use(served: Served) -> None:
    failed = run("serve", "--listen", served.bootstrap_servers)
    assert f"{served.bootstrap_servers} is in use" in failed.sentence()
    assert "0 for a free one" in failed.sentence()
    served.run("topics", "list").done()


def test_an_empty_name_of_the_data_folder_is_refused() -> None:
    refused = call("serve", "--data", "").sentence()
    assert refused == "oncelog: the data folder's name is empty; '.' is the current folder"


def test_a_file_at_the_path_of_the_data_folder_is_kept_and_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("precious")
    for path in (tmp_path / "data", tmp_path / "data" / "inside"):
        assert f"{path} cannot be used: a file is in the way" in run(*SERVE, "--data", path).sentence()
    assert (tmp_path / "data").read_text() == "precious"


def test_a_data_folder_in_use_is_refused_and_its_broker_continues(serve: Serve, tmp_path: Path) -> None:
    broker = serve("--data", tmp_path)
    assert "is in use by another broker" in run(*SERVE, "--data", tmp_path).sentence()
    broker.run("topics", "create", "t").done()


def test_a_folder_of_another_cluster_or_node_is_refused_and_not_changed(serve: Serve, tmp_path: Path) -> None:
    for name in ("one", "two"):
        serve("--data", tmp_path / name).stop().done()
    meta = tmp_path / "one" / "meta.properties"
    meta.write_text((tmp_path / "two" / "meta.properties").read_text())
    refused = run(*SERVE, "--data", tmp_path / "one").sentence()
    assert "belongs to cluster" in refused
    assert "name another data folder" in refused
    assert meta.read_text() == (tmp_path / "two" / "meta.properties").read_text()

    refused = run(*SERVE, "--data", tmp_path / "two", "--set", "node.id=7").sentence()
    assert "belongs to node 1" in refused


def test_a_damaged_metadata_file_is_kept_and_named_in_the_error(serve: Serve, tmp_path: Path) -> None:
    serve("--data", tmp_path).stop().done()
    store = tmp_path / "metadata.sqlite"
    store.write_bytes(b"no database" * 1000)
    refused = run(*SERVE, "--data", tmp_path).sentence()
    assert f"{store} is damaged" in refused
    assert "restore it, or move it away" in refused
    assert store.read_bytes() == b"no database" * 1000


def test_a_corrupt_segment_is_reported_and_other_topics_are_not_harmed(serve: Serve, tmp_path: Path) -> None:
    broker = serve("--data", tmp_path)
    values = "".join(f"value {number}\n" for number in range(3000))
    for topic in ("damaged", "sound"):
        broker.run("produce", "--topic", topic, "--set", "batch.size=1000", stdin=values).done()
    broker.stop().done()
    log = tmp_path / "damaged-0" / "00000000000000000000.log"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 0xFF
    log.write_bytes(content)

    dumped = run("dump-log", log)
    assert dumped.code == 1
    assert f"{log} is damaged at position" in dumped.sentence()

    broker = serve("--data", tmp_path)
    read = broker.run("consume", "--topic", "damaged", "--from-beginning", "--to-end")
    assert "damaged-0 cannot be read from offset" in read.sentence()
    assert "seek past the batch to continue" in read.sentence()
    before = read.out.splitlines()
    assert 0 < len(before) < 3000
    assert before == values.splitlines()[: len(before)]
    assert broker.run("consume", "--topic", "sound", "--from-beginning", "--to-end").done().out == values
    assert broker.stop().code == 0


def test_the_error_names_a_topic_that_does_not_exist(served: Served, unique_name: str, serve: Serve) -> None:
    sayings = [
        served.run("consume", "--topic", unique_name),
        served.run("consume", "--topic", unique_name, "--show-transactions"),
        served.run("topics", "describe", unique_name),
        served.run("topics", "delete", unique_name),
        served.run("topics", "alter", unique_name, "--partitions", 2),
        served.run("transactions", "describe-producers", "--topic", unique_name),
        serve("--set", "auto.create.topics.enable=false").run("produce", "--topic", unique_name, stdin="v\n"),
    ]
    for printed in sayings:
        assert f"topic {unique_name!r} does not exist" in printed.sentence()
        assert "oncelog topics create" in printed.sentence()


def test_the_error_names_a_broker_id_that_does_not_exist(served: Served) -> None:
    for words in (("describe", "broker", "77"), ("alter", "broker", "77", "--set-config", "log.retention.ms=1")):
        assert "the cluster has no broker 77" in served.run("configs", *words).sentence()


def test_an_empty_key_separator_is_refused(served: Served) -> None:
    assert "--key-separator" in served.run("produce", "--topic", "t", "-K", "", stdin="v\n").sentence()


def test_the_error_names_a_partition_that_does_not_exist(served: Served, unique_name: str) -> None:
    served.run("topics", "create", unique_name, "--partitions", 2).done()
    for command in ("produce", "consume"):
        failed = served.run(command, "--topic", unique_name, "--partition", 2)
        assert f"topic {unique_name!r} has no partition 2; its partitions are 0 to 1" in failed.sentence()


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address on which nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{unused.getsockname()[1]}"


def test_the_error_names_an_unreachable_broker(nobody: str) -> None:
    failed = run("topics", "list", "--bootstrap-server", nobody)
    assert failed.code == 1
    assert f"cannot connect to {nobody}" in failed.sentence()
    assert "that the broker is running" in failed.sentence()


@pytest.mark.parametrize(
    "words", [("consume", "--topic", "t"), ("produce", "--topic", "t"), ("transactions", "history")]
)
def test_every_kind_of_client_names_a_broker_that_does_not_exist(nobody: str, words: tuple[str, ...]) -> None:
    assert f"cannot connect to {nobody}" in call(*words, "--bootstrap-server", nobody).sentence()


HEADER = struct.Struct(">hhih")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1) + b"x" * 100,
        struct.pack(">i", 4) + b"\0\0\0\0",
        struct.pack(">i", 10) + HEADER.pack(999, 0, 1, -1),
        struct.pack(">i", 14) + HEADER.pack(3, 1, 1, -1) + struct.pack(">i", 2**30),
        struct.pack(">i", 14) + HEADER.pack(0, 9, 1, -1) + b"\xff" * 4,
        struct.pack(">i", 12) + HEADER.pack(1, 12, 1, 5) + b"ab",
    ],
    ids=["http", "negative", "oversized", "short", "unknown api", "array bomb", "produce", "cut header"],
)
def test_a_malformed_request_ends_only_its_own_connection(
    serve: Serve, served: Served, unique_name: str, sent: bytes
) -> None:
    delivered: list[object] = []
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    producer.produce(unique_name, b"before", on_delivery=lambda error, _: delivered.append(error))
    producer.flush()
    host, _, port = served.bootstrap_servers.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=120) as hostile:
        hostile.sendall(sent)
        with contextlib.suppress(ConnectionResetError):
            assert hostile.recv(1000) == b""
    producer.produce(unique_name, b"after", on_delivery=lambda error, _: delivered.append(error))
    producer.flush()
    assert delivered == [None, None]
    read = served.run("consume", "--topic", unique_name, "--from-beginning", "--to-end").done()
    assert read.out == "before\nafter\n"


@pytest.mark.parametrize("closed", ["0", "1", "2"])
def test_a_closed_standard_stream_does_not_fail_a_command(closed: str) -> None:
    """A command that wrote to a closed stream reported an internal error."""
    script = f'exec {closed}>&-; exec "$0" completion bash'
    command: list[str | Path] = ["bash", "-c", script, ONCELOG]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert bool(ended.stdout) == (closed != "1")


def test_a_broker_started_without_standard_input_serves() -> None:
    """The broker's first socket got descriptor 0, which ended the process."""
    script = 'exec 0<&- 2>&-; exec "$0" serve --listen 127.0.0.1:0'
    with subprocess.Popen(["bash", "-c", script, ONCELOG], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("oncelog listens on ").split(",")[0]
        try:
            run("topics", "list", "--bootstrap-server", address).done()
        finally:
            process.terminate()
        assert process.wait(120) == 0


def test_numbers_that_no_request_can_carry_are_reported(served: Served, unique_name: str) -> None:
    served.run("topics", "create", unique_name).done()
    for words in (
        ("topics", "create", f"{unique_name}-2", "--partitions", 99999999999),
        ("topics", "alter", unique_name, "--partitions", 99999999999),
        ("transactions", "abort", "--topic", unique_name, "--partition", 99999999999, "--start-offset", 0),
        ("consume", "--topic", unique_name, "--offset", 10**20, "--to-end"),
    ):
        printed = served.run(*words).sentence()
        assert "unexpected" not in printed, words
        assert "out of range" in printed or "there can be no" in printed or "cannot be" in printed, words


def test_a_record_for_an_impossible_partition_does_not_change_the_count_of_other_records(
    served: Served, unique_name: str
) -> None:
    lines = '{"value": "a"}\n{"value": "b", "partition": 99999999999}\n'
    ended = served.run("produce", "--topic", unique_name, "--json-lines", stdin=lines)
    assert "partition=99999999999 is out of range" in ended.sentence()
    assert ended.out == f"1 record acknowledged in {unique_name}\n"
    reported = served.run("produce", "--topic", unique_name, "--json-lines", "--json", stdin=lines).json
    assert (reported["sent"], reported["acknowledged"], reported["failed"]) == (2, 1, 1)
