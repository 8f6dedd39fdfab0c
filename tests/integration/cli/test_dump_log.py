"""``oncelog dump-log`` on a folder that a broker wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.integration.cli.conftest import Served, call


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transaction that was committed, one that was aborted, and the offsets of a group."""
    folder = tmp_path_factory.mktemp("data")
    broker = Served("--data", folder, "--set", "group.initial.rebalance.delay.ms=0")
    try:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "tx"})
        producer.init_transactions()
        for value in (b"committed", b"aborted"):
            producer.begin_transaction()
            producer.produce("t", key=b"k", value=value, headers=[("h", b"1")])
            producer.flush()
            (producer.commit_transaction if value == b"committed" else producer.abort_transaction)()
        broker.run("consume", "--topic", "t", "--group", "g", "--from-beginning", "--max-messages", 1).done()
    finally:
        broker.stop().done()
    return folder


def _dump(*arguments: object) -> list[dict[str, Any]]:
    return call("dump-log", *arguments, "--json").done().json_lines


def test_dump_log_shows_batches_records_and_markers(data: Path) -> None:
    log = data / "t-0" / "00000000000000000000.log"
    first, commit, second, abort = _dump(log, "--print-data")
    assert [batch["baseOffset"] for batch in (first, commit, second, abort)] == [0, 1, 2, 3]
    assert all(batch["isTransactional"] and batch["isvalid"] for batch in (first, commit, second, abort))
    assert [batch["isControl"] for batch in (first, commit, second, abort)] == [False, True, False, True]
    assert (commit["endTxnMarker"], abort["endTxnMarker"]) == ("COMMIT", "ABORT")
    assert first["producerId"] == commit["producerId"]
    (record,) = first["records"]
    assert (record["key"], record["payload"], record["headers"], record["sequence"]) == (
        "k",
        "committed",
        [["h", "1"]],
        0,
    )

    lines = call("dump-log", log).done().out.splitlines()
    assert lines[0] == f"Dumping {log}"
    assert lines[1].startswith("baseOffset: 0 lastOffset: 0 count: 1 baseSequence: 0 lastSequence: 0 producerId: ")
    assert "isTransactional: true isControl: true" in lines[2]
    assert "endTxnMarker: COMMIT coordinatorEpoch: 0" in lines[2]
    assert len(lines) == 5


def test_dump_log_of_a_folder_dumps_all_its_files(data: Path) -> None:
    kinds = {entry["kind"] for entry in _dump(data / "t-0")}
    assert kinds == {"batch", "time index", "aborted transaction", "producer", "leader epoch", "property"}
    (aborted,) = [entry for entry in _dump(data / "t-0") if entry["kind"] == "aborted transaction"]
    assert (aborted["firstOffset"], aborted["lastOffset"], aborted["lastStableOffset"]) == (2, 3, 4)


def test_dump_log_shows_checkpoints_and_properties(data: Path) -> None:
    found = _dump(data / "recovery-point-offset-checkpoint")
    assert {"topic": "t", "partition": 0, "offset": 4}.items() <= next(e for e in found if e["topic"] == "t").items()
    assert {entry["name"] for entry in _dump(data / "meta.properties")} >= {"cluster.id", "node.id", "version"}


def test_coordinator_topics_are_decoded_by_the_name_of_their_folder(data: Path) -> None:
    def payloads(topic: str) -> list[tuple[Any, Any]]:
        logs = [path for path in data.glob(f"{topic}-*/*.log") if path.stat().st_size]
        return [
            (record["key"], record["payload"]) for entry in _dump(*logs, "--print-data") for record in entry["records"]
        ]

    transitions = payloads("__transaction_state")
    assert [value["state"] for _, value in transitions] == [
        "Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "Ongoing", "PrepareAbort", "CompleteAbort",
    ]  # fmt: skip
    assert {key["transactional_id"] for key, _ in transitions} == {"tx"}
    commits = [value["offset"] for key, value in payloads("__consumer_offsets") if key["kind"] == "OffsetCommit"]
    assert commits[-1] >= 1


def test_the_error_names_a_file_that_belongs_to_no_log(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    assert f"no such file: {tmp_path / 'y'}" in call("dump-log", tmp_path / "y").sentence()
    assert f"the folder {tmp_path} holds no log files" in call("dump-log", tmp_path).sentence()
    assert "x.txt is not a file of a data folder" in call("dump-log", tmp_path / "x.txt", "--json").sentence()


def test_a_truncated_file_is_shown_up_to_the_cut(data: Path, tmp_path: Path) -> None:
    content = (data / "t-0" / "00000000000000000000.log").read_bytes()
    cut = tmp_path / "00000000000000000000.log"
    cut.write_bytes(content[:-10])
    failed = call("dump-log", cut, "--json")
    assert [entry["kind"] for entry in failed.json_lines] == ["batch", "batch", "batch", "damage"]
    assert f"{cut} is damaged at position" in failed.sentence()
    snapshot = tmp_path / "00000000000000000004.snapshot"
    snapshot.write_bytes(b"\0" * 20)
    assert f"{snapshot} is damaged" in call("dump-log", snapshot).sentence()
