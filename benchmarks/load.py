"""The load generator: `client.c`, built once against the librdkafka that comes inside confluent-kafka."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("client.c")


class BenchmarkError(Exception):
    """A benchmark can not be measured here; the text says what is missing or what failed."""


def cache_folder() -> Path:
    """Where what is built and downloaded for benchmarks is kept."""
    return Path.home() / ".cache" / "oncelog" / "benchmarks"


@cache
def client() -> Path:
    """The program, built anew where its source or librdkafka changed."""
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        raise BenchmarkError("the package confluent-kafka is needed for its librdkafka: make setup")
    libraries = sorted((Path(spec.origin).parents[1] / "confluent_kafka.libs").glob("librdkafka*.so*"))
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not libraries or compiler is None:
        raise BenchmarkError(
            "a C compiler and confluent-kafka's wheel for Linux are needed to build the load generator"
        )
    library = libraries[0]
    version = hashlib.sha256(SOURCE.read_bytes() + str(library).encode()).hexdigest()[:16]
    program = cache_folder() / f"client-{version}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(".partial")
        command = [compiler, "-std=gnu11", "-O2", "-Wall", "-Wextra", str(SOURCE), "-o", str(partial)]
        run = subprocess.run([*command, str(library), f"-Wl,-rpath,{library.parent}"], capture_output=True, text=True)
        if run.returncode:
            raise BenchmarkError(f"the load generator can not be built:\n{run.stderr[-2000:]}")
        partial.rename(program)
    return program


def run_client(work: str, servers: str, topic: str, *numbers: int) -> dict[str, float]:
    """Run one load to its end; what it measured, in seconds and milliseconds."""
    command = [str(client()), work, servers, topic, *map(str, numbers)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if run.returncode:
        raise BenchmarkError(f"{work} with {servers}: {run.stderr.strip()[-500:]}")
    found: dict[str, float] = json.loads(run.stdout)
    return found
