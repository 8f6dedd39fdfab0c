"""An export that is killed (SIGKILL) at any step and run again: each record is there once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call
from tests.integration.export.test_export import FORMATS, ExportedTopic, numbered
from tests.support.both_brokers import KAFKA_IN_SOAK

KILLED = """
import importlib, os, signal, sys
from oncelog.cli.main import main

place, when, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
module, _, path = place.partition(":")
owner = importlib.import_module(module)
*owners, name = path.split(".")
for one in owners:
    owner = getattr(owner, one)
original = getattr(owner, name)
calls = 0

def call(*arguments, **named):
    global calls
    calls += 1
    if calls < number:
        return original(*arguments, **named)
    if when == "after":
        original(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, name, call)
main(sys.argv[4:])
"""
STEPS = {
    "parquet": [
        ("oncelog.apps.export.parquet_folder:ParquetFolder.open", "after", 1),
        ("oncelog.apps.export.parquet_folder:ParquetFolder.write", "after", 2),
        ("oncelog.apps.export.parquet_folder:os.fsync", "before", 1),
        ("oncelog.apps.export.parquet_folder:Path.rename", "before", 2),
        ("oncelog.apps.export.parquet_folder:Path.rename", "after", 1),
        ("oncelog.apps.export.parquet_folder:sync_folder", "before", 2),
        ("oncelog.apps.export.parquet_folder:ParquetFolder.commit", "after", 1),
    ],
    "csv": [
        ("oncelog.apps.export.csv_file:CsvFile._locked", "after", 1),
        ("oncelog.apps.export.csv_file:CsvFile.open", "after", 1),
        ("oncelog.apps.export.csv_file:csv.write_csv", "after", 1),
        ("oncelog.apps.export.csv_file:CsvFile._put", "before", 1),
        ("oncelog.apps.export.csv_file:CsvFile._put", "before", 2),
        ("oncelog.apps.export.csv_file:CsvFile._put", "after", 2),
        ("oncelog.apps.export.csv_file:os.fsync", "before", 2),
        ("oncelog.apps.export.csv_file:os.fsync", "after", 2),
    ],
    "delta": [
        ("oncelog.apps.export.delta_table:ExportedDelta.open", "after", 1),
        ("oncelog.apps.export.delta_table:ExportedDelta.write", "after", 2),
        ("oncelog.apps.export.delta_table:add_files", "before", 1),
        ("oncelog.apps.export.delta_table:add_files", "after", 1),
        ("oncelog.apps.export.delta_table:add_files", "after", 2),
    ],
}


@KAFKA_IN_SOAK
@pytest.mark.parametrize(
    "form", ["parquet", *(pytest.param(name, marks=pytest.mark.soak) for name in ("csv", "delta"))]
)
def test_each_record_exists_once_after_kills_at_each_step(
    broker: RunningBroker, unique_name: str, tmp_path: Path, form: str
) -> None:
    """Each run has new records, so that it gets as far as its step."""
    call("topics", "create", unique_name, "--partitions", 2, "-b", broker.bootstrap_servers).done()
    exported = ExportedTopic(broker.bootstrap_servers, unique_name, tmp_path / f"out.{form}")
    words = ["export", unique_name, "--to", exported.to, "-b", exported.address, "--part-bytes", 1]
    words += ["-X", "max.partition.fetch.bytes=200"]  # a commit for each batch
    count = 0
    for step in STEPS[form]:
        for _ in range(3):
            exported.produce(numbered(count, count + 10))
            count += 10
        command = [sys.executable, "-c", KILLED, *map(str, [*step, *words])]
        ended = subprocess.run(command, capture_output=True, timeout=300, check=False)
        assert ended.returncode == -signal.SIGKILL, (step, ended.stderr.decode())
    exported.export().done()
    assert exported.values() == [value.decode() for value in numbered(0, count)]
    assert len({row[:2] for row in exported.rows()}) == count
    assert exported.export("--json").done().json["records"] == 0


@KAFKA_IN_SOAK
@pytest.mark.parametrize("form", FORMATS)
def test_a_second_export_is_refused_while_the_first_runs(
    broker: RunningBroker, unique_name: str, tmp_path: Path, form: str
) -> None:
    """The first waits before it commits until the other has ended."""
    call("topics", "create", unique_name, "--partitions", 2, "-b", broker.bootstrap_servers).done()
    exported = ExportedTopic(broker.bootstrap_servers, unique_name, tmp_path / f"out.{form}")
    exported.produce(numbered(0, 10))
    program = KILLED.replace(
        "os.kill(os.getpid(), signal.SIGKILL)",
        "print('there', flush=True); sys.stdin.readline(); return original(*arguments, **named)",
    )
    target = {"parquet": "ParquetFolder", "csv": "CsvFile", "delta": "ExportedDelta"}[form]
    module = {"parquet": "parquet_folder", "csv": "csv_file", "delta": "delta_table"}[form]
    words = ["export", unique_name, "--to", str(exported.to), "-b", exported.address]
    command = [sys.executable, "-c", program, f"oncelog.apps.export.{module}:{target}.commit", "before", "1", *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "there\n"
        second = exported.export()
        _, printed = first.communicate("go on\n", timeout=300)
    codes = sorted((first.returncode, second.code))
    assert codes == [0, 1], (printed, second.err)
    assert "run one at a time" in (printed if first.returncode else second.sentence())
    assert exported.values() == [value.decode() for value in numbered(0, 10)]
