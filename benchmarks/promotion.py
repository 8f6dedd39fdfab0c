"""Measures `oncelog promote` of a large folder, and checks that Apache Kafka starts on the result.

    python -m benchmarks.promotion [--gigabytes N] [--partitions N] [--segment-megabytes N] [--mode link|copy|move]

A broker of ours is filled with batches of 900 KB, spread over the partitions, and stopped. Only closed segments become
links, so the size of a segment decides how much is copied. CPU time is that of the command; elapsed time also includes
other load on the machine. Everything is removed at the end: the run needs twice the given size on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.bodies import RawFetched
from oncelog.apps.conformance.raw.wire import LATEST, RawConnection
from tests.support.apache_kafka import ApacheKafka

GB, MB = 1 << 30, 1 << 20
VALUE = os.urandom(900 * 1000)
"""The value of each batch's only record: files are measured here, not records."""
TIMEOUT_S = 900
_LINE = re.compile(r"^\d{4}-\S+ \S+ (WARN|ERROR|FATAL) (\S+) - (.*)$", re.MULTILINE)


def fill(data: Path, size_bytes: int, partitions: int, segment_bytes: int) -> None:
    with oncelog.Broker(data) as broker, RawConnection(broker.bootstrap_servers) as connection:
        connection.create_topic("t", partitions, segment_bytes=segment_bytes)
        sent = batch(VALUE)
        for number in range(size_bytes // len(sent)):
            answer = connection.produce("t", sent, number % partitions)
            if answer.error:
                raise SystemExit(f"the broker refused a batch with error {answer.error}")


def used(folder: Path) -> int:
    """Bytes on disk, as ``du`` counts them."""
    return sum(os.lstat(Path(root) / name).st_blocks * 512 for root, _, names in os.walk(folder) for name in names)


def promote(data: Path, target: Path, kafka: ApacheKafka, mode: str) -> None:
    command = [sys.executable, "-m", "oncelog", "promote", str(data), "--to", str(target), "--json"]
    command += ["--listen", kafka.bootstrap_servers, "--controller", kafka.controller]
    command += [] if mode == "link" else [f"--{mode}"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    reported = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"promote ({mode}): {reported['partitions']} partitions, {reported['linked_bytes'] / GB:.2f} GB linked, "
        f"{reported['copied_bytes'] / GB:.2f} GB copied, snapshot of {reported['records']} records; "
        f"{seconds:.1f} s by the clock, {cpu_s:.1f} s CPU, {after.ru_maxrss / 1024:.0f} MB",
        flush=True,
    )


def start(kafka: ApacheKafka, target: Path, partitions: int) -> None:
    began, before = time.perf_counter(), os.times()
    kafka.start_promoted(target, timeout_s=900)
    print(f"Apache Kafka: first answer after {time.perf_counter() - began:.1f} s", flush=True)
    with RawConnection(kafka.bootstrap_servers) as connection:
        ends = {number: end_of(connection, number) for number in range(partitions)}
        print(f"all {partitions} partitions led after {time.perf_counter() - began:.1f} s", flush=True)
        for number, end in ends.items():
            for offset in (0, end - 1):
                check_record(connection, number, offset)
    print(
        f"first and last record of each read after {time.perf_counter() - began:.1f} s: "
        f"{sum(ends.values())} records in all",
        flush=True,
    )
    kafka.stop()
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    printed = Counter((level, source, text[:160]) for level, source, text in _LINE.findall(kafka.log_path.read_text()))
    print(
        f"Apache Kafka, from its start to its end: {cpu_s:.1f} s CPU, {printed.total()} warnings and errors", flush=True
    )
    for (level, source, text), count in printed.most_common():
        print(f"{count:5} {level} {source}: {text}", flush=True)


def end_of(connection: RawConnection, partition: int) -> int:
    """The partition's high watermark, once it has a leader."""

    def probe() -> int | None:
        found = connection.list_offset("t", LATEST, partition)
        return None if found.error_code else found.offset

    return eventually(probe, TIMEOUT_S)


def check_record(connection: RawConnection, partition: int, offset: int) -> None:
    def probe() -> RawFetched | None:
        found = connection.fetch("t", offset, partition)
        return None if found.error else found

    found = eventually(probe, TIMEOUT_S).batches[0]
    if (found.base_offset, found.records()[0].value) != (offset, VALUE):
        raise SystemExit(f"t-{partition} has another record at offset {offset} than was written")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--segment-megabytes", type=int, default=1024)
    parser.add_argument("--mode", choices=("link", "copy", "move"), default="link")
    chosen = parser.parse_args()
    # an exception, so that processes are stopped and files removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="oncelog-promotion-"))
    try:
        fill(folder / "data", int(chosen.gigabytes * GB), chosen.partitions, chosen.segment_megabytes * MB)
        print(f"data folder: {used(folder / 'data') / GB:.2f} GB", flush=True)
        free = shutil.disk_usage(folder).free
        kafka = ApacheKafka(folder / "kafka", heap="1g")
        promote(folder / "data", folder / "node", kafka, chosen.mode)
        print(f"disk taken: {(free - shutil.disk_usage(folder).free) / GB:.2f} GB", flush=True)
        try:
            start(kafka, folder / "node", chosen.partitions)
        finally:
            kafka.kill()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
