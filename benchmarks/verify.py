"""Measures ``oncelog verify`` on large topics: records a second, CPU and memory.

    python -m benchmarks --only verify [--quick]

Two topics of four partitions hold the same records, in transactions of 250,000. ``verify log`` reads one topic,
``verify copy`` compares both. Each runs in a separate process; the CPU of ``oncelog serve``, whose data is on disk, is
not counted. The environment variable ``VERIFY_RECORDS`` sets the number of records.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.load import BenchmarkError
from benchmarks.measures import Figures
from oncelog.client.aio import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic

SOURCE, DEST = "events", "events-copy"
PARTITIONS = 4
IN_TRANSACTION = 250_000
KEYS = 1_000_003
_MEASURE = """
import json, resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""A program that runs the measured command and prints its status, CPU and peak memory. The peak memory of a child
process starts at that of its parent, so a small process has to start it."""


def speeds(rounds: int, add: Callable[[str, Figures], None], *, quick: bool) -> None:
    """Fill the topics once, then verify them in each round."""
    records = int(os.environ.get("VERIFY_RECORDS", "1000000" if quick else "10000000"))
    with TemporaryDirectory(prefix="oncelog-verify-benchmark-") as folder, _broker(Path(folder)) as address:
        asyncio.run(_fill(address, records))
        for _ in range(rounds):
            add("verify log", _run(records, "log", SOURCE, "--bootstrap-server", address))
            add("verify copy", _run(records, "copy", SOURCE, DEST, "--bootstrap-server", address))


@contextmanager
def _broker(folder: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "oncelog", "serve", "--listen", "127.0.0.1:0", "--data", str(folder), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or not (line := process.stdout.readline()):
                raise BenchmarkError("the broker did not start")
            yield json.loads(line)["listening"]
        finally:
            process.terminate()


async def _fill(address: str, records: int) -> None:
    async with Admin(bootstrap_servers=address) as admin:
        await admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in (SOURCE, DEST)])
    for topic in (SOURCE, DEST):
        async with Producer(
            bootstrap_servers=address, transactional_id=f"fill-{topic}", compression_type="lz4", max_batch_size=262_144
        ) as producer:
            for begin in range(0, records, IN_TRANSACTION):
                async with producer.transaction():
                    await producer.send_arrow(topic, _rows(begin, min(begin + IN_TRANSACTION, records)))


def _rows(begin: int, end: int) -> pa.Table:
    numbers = np.arange(begin, end)
    keys = numbers % KEYS
    texts = pc.binary_join_element_wise("event ", pc.cast(pa.array(numbers), pa.string()), "")
    return pa.table(
        {
            "key": pc.cast(pc.cast(pa.array(keys), pa.string()), pa.binary()),
            "value": pc.cast(texts, pa.binary()),
            "partition": pa.array((keys % PARTITIONS).astype("int32")),
        }
    )


def _run(records: int, *words: str) -> Figures:
    began = time.perf_counter()
    command = [sys.executable, "-c", _MEASURE, sys.executable, "-m", "oncelog", "verify", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    status, cpu_s, memory_kib = json.loads(ended.stdout)
    if status:
        raise BenchmarkError(f"verify {' '.join(words)} ended with {status}: {ended.stderr}")
    return {
        "records_per_s": records / seconds,
        "cpu_us_per_record": 1e6 * cpu_s / records,
        "memory_mb": memory_kib / 1024,
    }
