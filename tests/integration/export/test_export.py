"""``oncelog export`` against our broker and Apache Kafka."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from oncelog.apps.export.exporting import Export
from oncelog.apps.export.parquet_folder import ParquetFolder
from oncelog.apps.export.target import ExportError
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.types import TopicPartition
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import Outcome, call
from tests.support.full_disk import full_disk

FORMATS = ("parquet", "csv", "delta")
Row = tuple[int, int, Any]
"""Partition, offset and value."""


@dataclass
class ExportedTopic:
    """A topic of two partitions, and a place for its export."""

    address: str
    name: str
    to: Path

    def produce(self, values: Sequence[bytes | None], *, commit: bool = True) -> None:
        with Producer(bootstrap_servers=self.address, transactional_id=self.name) as producer:
            producer.begin_transaction()
            for number, value in enumerate(values):
                producer.send(self.name, value, key=b"k", partition=number % 2, headers=[("h", b"1")])
            if commit:
                producer.commit_transaction()
            else:
                producer.flush()
                producer.abort_transaction()

    def export(self, *more: object) -> Outcome:
        return call("export", self.name, "--to", self.to, "-b", self.address, *more)

    def rows(self) -> list[Row]:
        return rows_of(self.to)

    def values(self) -> list[str]:
        return sorted(value for _, _, value in self.rows())


def rows_of(path: Path) -> list[Row]:
    """What a reader that knows nothing of the export finds."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            read = [(int(one["partition"]), int(one["offset"]), one["value"]) for one in csv.DictReader(file)]
        return sorted(read)
    if path.suffix == ".parquet":
        files = sorted(path.glob("*.parquet"))
        found = [row for file in files for row in pq.read_table(file).to_pylist()]
    else:
        found = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    return sorted((one["partition"], one["offset"], (one["value"] or b"").decode()) for one in found)


@pytest.fixture(params=FORMATS)
def exported(request: pytest.FixtureRequest, broker: RunningBroker, unique_name: str, tmp_path: Path) -> ExportedTopic:
    call("topics", "create", unique_name, "--partitions", 2, "-b", broker.bootstrap_servers).done()
    return ExportedTopic(broker.bootstrap_servers, unique_name, tmp_path / f"out.{request.param}")


def numbered(first: int, end: int) -> list[bytes]:
    return [f"v{number:04}".encode() for number in range(first, end)]


@pytest.mark.parametrize("broker", ["oncelog"], indirect=True)
def test_an_export_that_a_full_disk_interrupts_is_reported_and_continued_later(exported: ExportedTopic) -> None:
    exported.produce(numbered(0, 10))
    exported.export().done()
    more = [os.urandom(100).hex().encode() for _ in range(2000)]
    exported.produce(more)
    with full_disk(50_000):
        reported = exported.export().sentence()
    assert f"{exported.to} cannot be written: " in reported
    assert "File too large" in reported
    assert len(exported.rows()) == 10 or exported.to.suffix == ".csv", "a CSV file may hold more until the next run"
    assert exported.export().done().err == f"2000 records exported to {exported.to}\n"
    assert exported.values() == sorted([*(one.decode() for one in numbered(0, 10)), *(one.decode() for one in more)])


def test_committed_records_are_exported_once_and_later_records_appended(exported: ExportedTopic) -> None:
    exported.produce(numbered(0, 30))
    exported.produce(numbered(900, 910), commit=False)
    assert exported.export().done().err == f"30 records exported to {exported.to}\n"
    assert exported.export().done().err == f"0 records exported to {exported.to}\n"
    exported.produce(numbered(30, 50))
    assert exported.export("--json").done().json_lines[-1] == {
        "records": 20, "malformed": 0, "deleted": 0, "left": 0,
    }  # fmt: skip
    assert exported.values() == [value.decode() for value in numbered(0, 50)]
    assert len({row[:2] for row in exported.rows()}) == 50


def test_exported_columns_hold_the_whole_record(exported: ExportedTopic) -> None:
    exported.produce([b'a,"b"\n', None])
    exported.export().done()
    if exported.to.suffix == ".csv":
        lines = exported.to.read_text().split("\n")
        assert lines[0] == '"partition","offset","timestamp","key","value","headers"'
        assert lines[1].startswith('0,0,"20')
        assert lines[1].endswith(',"k","a,""b""')
        assert lines[3].endswith('Z","k",,"[{""key"": ""h"", ""value"": ""1""}]"')
        return
    table = (
        DeltaTable(str(exported.to)).to_pyarrow_table()
        if exported.to.suffix == ".delta"
        else pq.read_table(next(exported.to.glob("*.parquet")))
    )
    first, second = table.sort_by("partition").to_pylist()
    assert (first["key"], first["value"], first["headers"]) == (b"k", b'a,"b"\n', [{"key": "h", "value": b"1"}])
    assert (second["partition"], second["value"]) == (1, None)


def test_topic_without_records_is_exported_and_continued(exported: ExportedTopic) -> None:
    exported.export().done()
    exported.produce(numbered(0, 3))
    exported.export().done()
    assert exported.values() == ["v0000", "v0001", "v0002"]


def test_exporting_another_topic_into_the_same_place_is_refused(exported: ExportedTopic, unique_name: str) -> None:
    exported.produce(numbered(0, 2))
    exported.export().done()
    other = f"{unique_name}-other"
    call("topics", "create", other, "-b", exported.address).done()
    refused = ExportedTopic(exported.address, other, exported.to)
    assert "choose another" in refused.export().sentence()
    assert exported.values() == ["v0000", "v0001"]


def test_topic_that_was_recreated_is_refused(exported: ExportedTopic) -> None:
    exported.produce(numbered(0, 2))
    exported.export().done()
    with Admin(bootstrap_servers=exported.address) as admin:
        admin.delete_topics([exported.name])
    call("topics", "create", exported.name, "--partitions", 2, "-b", exported.address).done()
    assert "was deleted and created again since this export was begun" in exported.export().sentence()


def test_topic_that_is_recreated_during_the_export_adds_nothing(
    oncelog_broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    """The consumer goes on in the new topic, at the old one's offsets."""
    topic = ExportedTopic(oncelog_broker.bootstrap_servers, unique_name, tmp_path / "out.parquet")
    with (
        Admin(bootstrap_servers=topic.address) as admin,
        Consumer[Any, Any](
            bootstrap_servers=topic.address,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
        ) as consumer,
        closing(ParquetFolder(topic.to)) as target,
    ):
        admin.create_topics([NewTopic(topic.name, 2)])
        topic.produce(numbered(0, 4))
        export = Export(admin, consumer, topic.name, target, skip_deleted=False, part_bytes=1 << 20)
        export.open(export.begun(), {}, {})
        admin.delete_topics([topic.name])
        admin.create_topics([NewTopic(topic.name, 2)])
        topic.produce(numbered(900, 910))
        while export.round():
            continue
        with pytest.raises(ExportError, match="was deleted and created again while it was exported"):
            export.commit()
    assert topic.rows() == []


def test_deleted_records_are_not_skipped_silently(exported: ExportedTopic) -> None:
    exported.produce(numbered(0, 4))
    exported.export().done()
    exported.produce(numbered(4, 8))
    first = TopicPartition(exported.name, 0)
    with Admin(bootstrap_servers=exported.address) as admin:
        admin.delete_records({first: 4})
    assert f"Records of {exported.name}-0 from offset 3 to 3 were deleted" in exported.export().sentence()
    reported = exported.export("--skip-deleted").done().err
    assert reported == f"3 records exported to {exported.to}, 1 offsets skipped that were deleted\n"
    assert exported.values() == ["v0000", "v0001", "v0002", "v0003", "v0005", "v0006", "v0007"]


def test_a_target_that_is_not_an_export_is_refused(exported: ExportedTopic) -> None:
    exported.produce(numbered(0, 2))
    if exported.to.suffix == ".csv":
        exported.to.write_text("mine\n")
    else:
        exported.to.mkdir()
        (exported.to / "mine.txt").write_text("mine\n")
    ended = exported.export()
    if exported.to.suffix == ".delta":  # a table may be in a folder with other files
        assert exported.values() == ["v0000", "v0001"]
    else:
        assert "choose another name" in ended.sentence()


def test_a_new_file_begins_after_the_given_number_of_bytes(exported: ExportedTopic) -> None:
    exported.produce(numbered(0, 100))
    lines = exported.export("--part-bytes", 1, "--json").done().json_lines
    assert [one["left"] for one in lines][-1] == 0
    exported.produce(numbered(100, 120))
    exported.export("--part-bytes", 1).done()
    assert exported.values() == [value.decode() for value in numbered(0, 120)]


def test_only_an_export_as_csv_refuses_bytes_that_are_not_text(exported: ExportedTopic) -> None:
    exported.produce([b"a", b"b", b"c", b"\xff"])
    ended = exported.export()
    if exported.to.suffix == ".csv":
        assert "The value of the record at offset 1 of partition 1 is not UTF-8 text" in ended.sentence()
        assert exported.to.read_bytes() == b""
    else:
        ended.done()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--to", "out.txt"), "--to ends with .parquet, .csv or .delta"),
        (("--to", "s3://bucket/out.parquet"), "an object store holds Delta tables only"),
        (("--to", "out.csv", "--storage", "a=b"), "--storage is for Delta tables"),
        (("--to", "out", "--format", "delta", "--storage", "a"), "--storage takes NAME=VALUE"),
        (("--to", "/proc/nowhere/out.csv"), "cannot be written"),
        (("--to", "/proc/nowhere/out.parquet"), "cannot be written"),
    ],
)
def test_wrong_export_options_are_refused_in_a_sentence(
    broker: RunningBroker, unique_name: str, words: Any, why: str
) -> None:
    call("topics", "create", unique_name, "-b", broker.bootstrap_servers).done()
    assert why in call("export", unique_name, *words, "-b", broker.bootstrap_servers).sentence()


def test_a_damaged_export_position_is_reported(exported: ExportedTopic) -> None:
    exported.produce(numbered(0, 2))
    exported.export().done()
    match exported.to.suffix:
        case ".csv":
            exported.to.write_text("cut\n")
        case ".parquet":
            next(exported.to.glob("*.parquet")).write_bytes(b"PAR1 cut")
        case _:
            (exported.to / "_delta_log" / f"{1:020}.json").write_text("{")
    printed = exported.export().sentence()
    assert "another program has changed it" in printed or "cannot be read" in printed


def test_headers_are_exported_as_valid_json(exported: ExportedTopic) -> None:
    if exported.to.suffix != ".csv":
        pytest.skip("only CSV has headers as JSON")
    exported.produce([b"x"])
    exported.export().done()
    with exported.to.open(newline="") as file:
        assert [json.loads(one["headers"]) for one in csv.DictReader(file)] == [[{"key": "h", "value": "1"}]]


NANOSECONDS = 1_700_000_000_000_000_000


def test_timestamps_of_any_year_are_exported_and_unsupported_timestamps_end_the_export(
    broker: RunningBroker, unique_name: str, tmp_path: Path
) -> None:
    address = broker.bootstrap_servers
    any_time = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
    held = [1, -5, -62_135_596_800_001, 253_402_300_800_000, 9_223_372_036_854_775, -9_223_372_036_854_775]
    with Admin(bootstrap_servers=address) as admin, Producer(bootstrap_servers=address) as producer:
        admin.create_topics([NewTopic(unique_name, 1, topic_configs=any_time)])
        for timestamp in held:
            producer.send(unique_name, b"v", timestamp_ms=timestamp).result()
        for form in FORMATS:
            call("export", unique_name, "--to", tmp_path / f"out.{form}", "-b", address).done()
        producer.send(unique_name, b"v", timestamp_ms=NANOSECONDS).result()
    reported = (
        f"The record {unique_name}-0:{len(held)} has the timestamp {NANOSECONDS} ms, and timestamps of a table end at"
    )
    for form in FORMATS:
        again = ("export", unique_name, "--to", tmp_path / f"out.{form}", "-b", address)
        assert reported in call(*again).sentence()
        assert "1 malformed as null" in call(*again, "--malformed", "null").done().err
    with (tmp_path / "out.csv").open(newline="") as file:
        texts = [one["timestamp"] for one in csv.DictReader(file)]
    assert texts == [
        "1970-01-01T00:00:00.001000Z", "1969-12-31T23:59:59.995000Z", "0000-12-31T23:59:59.999000Z",
        "+10000-01-01T00:00:00.000000Z", "+294247-01-10T04:00:54.775000Z", "-290308-12-21T19:59:05.225000Z", "",
    ]  # fmt: skip
    parquet = pa.concat_tables(pq.read_table(one) for one in sorted((tmp_path / "out.parquet").glob("*.parquet")))
    delta = DeltaTable(str(tmp_path / "out.delta")).to_pyarrow_table().sort_by("offset")
    for table in (parquet, delta):
        assert table["timestamp"].cast(pa.int64()).to_pylist() == [*(one * 1000 for one in held), None]
