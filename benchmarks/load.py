"""The two load generators, compiled from C when they are first needed.

`client.c` drives the librdkafka that comes inside confluent-kafka; `requests.c` sends encoded requests.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from struct import Struct
from subprocess import PIPE
from threading import Timer
from typing import NamedTuple

SOURCE = Path(__file__).with_name("client.c")
RAW_SOURCE = Path(__file__).with_name("requests.c")
_UINT32 = Struct("=I")


class BenchmarkError(Exception):
    """A benchmark cannot be run here; the text says which program is missing or what failed."""


class Frame(NamedTuple):
    """An encoded request, and the position of the error code in its answer, counted after the size field; 0 if the
    answer has no error code."""

    data: bytes
    error_at: int = 0


def cache_folder() -> Path:
    """The folder for the programs built and downloaded for benchmarks."""
    return Path.home() / ".cache" / "oncelog" / "benchmarks"


def _built(source: Path, *libraries: Path) -> Path:
    """The program built from a C file; it is built again if the file or a library has changed."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise BenchmarkError(f"a C compiler is needed to build the load generator {source.name}")
    version = hashlib.sha256(source.read_bytes() + str(libraries).encode()).hexdigest()[:16]
    program = cache_folder() / f"{source.stem}-{version}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(".partial")
        command = [compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", str(source), "-o", str(partial)]
        for library in libraries:
            command += [str(library), f"-Wl,-rpath,{library.parent}"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            raise BenchmarkError(f"the load generator {source.name} cannot be built:\n{run.stderr[-2000:]}")
        partial.rename(program)
    return program


@cache
def client() -> Path:
    """The load generator that drives librdkafka."""
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise BenchmarkError("the package confluent-kafka is needed for its librdkafka: make setup")
    libraries = sorted((Path(spec.origin).parents[1] / "confluent_kafka.libs").glob("librdkafka*.so*"))
    if not libraries:
        raise BenchmarkError("confluent-kafka's wheel for Linux is needed to build the load generator")
    return _built(SOURCE, libraries[0])


@cache
def raw_client() -> Path:
    """The load generator that sends encoded requests."""
    return _built(RAW_SOURCE)


def run_raw(
    port: int,
    scripts: Sequence[Sequence[Frame]],
    connections: int,
    in_flight: int,
    seconds: float,
    *,
    repeat: bool,
    watched: int = 0,
    cpu_s: Callable[[], float] = lambda: 0.0,
) -> dict[str, float]:
    """Send frames as fast as they are answered; returns the measurements, in seconds and microseconds.

    :param watched: only connections with one of the first ``watched`` scripts count, and they send one request at a
        time; 0: all connections count.
    :param cpu_s: the CPU time that the server has used so far. The result's ``cpu_s`` is the part used for the load,
        without accepting and closing connections.
    """
    with tempfile.NamedTemporaryFile(suffix=".frames") as file:
        file.write(_UINT32.pack(len(scripts)))
        for script in scripts:
            file.write(_UINT32.pack(len(script)))
            for data, error_at in script:
                file.write(_UINT32.pack(len(data)) + _UINT32.pack(error_at) + data)
        file.flush()
        numbers = (connections, in_flight, seconds, int(repeat), watched)
        command = [str(raw_client()), str(port), file.name, *map(str, numbers)]
        with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as run:
            watch = Timer(seconds + 60, run.kill)
            watch.start()
            try:
                found = _watched(run, cpu_s)
            finally:
                watch.cancel()
    return found


def _watched(run: subprocess.Popen[str], cpu_s: Callable[[], float]) -> dict[str, float]:
    """The measurements that the running load generator prints at its end, and ``cpu_s``, the server's CPU time during
    the load."""
    if run.stdin is None or run.stdout is None or run.stderr is None:
        raise BenchmarkError("the load generator was started without pipes")
    if run.stdout.readline():
        before = cpu_s()
        run.stdin.write("\n")
        run.stdin.flush()
        line = run.stdout.readline()
        used = cpu_s() - before
        if line:
            run.stdin.close()
            found: dict[str, float] = json.loads(line)
            return found | {"cpu_s": used}
    raise BenchmarkError(f"the load generator failed: {run.stderr.read().strip()[-500:]}")


def run_client(work: str, servers: str, topic: str, *numbers: int) -> dict[str, float]:
    """Run one load to its end; returns its measurements, in seconds and milliseconds."""
    command = [str(client()), work, servers, topic, *map(str, numbers)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if run.returncode:
        raise BenchmarkError(f"{work} with {servers}: {run.stderr.strip()[-500:]}")
    found: dict[str, float] = json.loads(run.stdout)
    return found
