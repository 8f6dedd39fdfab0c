"""Measures the schema registry: registrations and lookups a second, and what it adds to a broker's start time and
memory.

    python -m benchmarks --only schema-registry [--quick]

Requests go over persistent connections to ``oncelog serve --schema-registry``; broker and registry are separate
processes. The start time is that of ``oncelog.Broker()`` in new Python processes, alternately with and without a
registry.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

from benchmarks.load import BenchmarkError
from benchmarks.measures import Figures

CONNECTIONS = (1, 16)
_START = """
import json, os, sys, time
import oncelog
with_registry = sys.argv[1] == "True"
began, used = time.perf_counter(), time.process_time()
with oncelog.Broker(schema_registry=with_registry) as broker:
    started, started_used = time.perf_counter(), time.process_time()
    answered = started
    if with_registry:
        from urllib.request import urlopen
        urlopen(broker.schema_registry_url + "/subjects").read()
        answered = time.perf_counter()
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[1])
    answered_used = time.process_time()
milliseconds = [1000 * one for one in
                (started - began, started_used - used, answered - began, answered_used - used)]
print(json.dumps([*milliseconds, pages * os.sysconf("SC_PAGE_SIZE") / 1e6]))
"""
_STARTS = ("start_ms", "start_cpu_ms", "until_first_answer_ms", "until_first_answer_cpu_ms", "memory_mb")


def speeds(rounds: int, add: Callable[[str, Figures], None], *, quick: bool) -> None:
    """Starts, then requests."""
    for number in range(rounds * (1 if quick else 5)):
        for with_registry in (True, False) if number % 2 else (False, True):
            add("Broker(schema_registry=True)" if with_registry else "Broker()", _start(with_registry))
    seconds = 0.5 if quick else 2.0
    for _ in range(rounds):
        with _registry() as address:
            add(
                "registry",
                {f"{name}_{count}": rate for count in CONNECTIONS for name, rate in _rates(address, count, seconds)},
            )


def _start(with_registry: bool) -> Figures:
    command = [sys.executable, "-c", _START, str(with_registry)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if ended.returncode != 0:
        raise BenchmarkError(f"a broker with schema_registry={with_registry} did not start: {ended.stderr}")
    return dict(zip(_STARTS, json.loads(ended.stdout), strict=True))


@contextmanager
def _registry() -> Iterator[str]:
    """Run a broker with a registry, both in memory, for the block; yields the registry's HOST:PORT."""
    command = [sys.executable, "-m", "oncelog", "serve", "--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen([*command, "--schema-registry", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout or ():
                url = json.loads(line).get("schema_registry")
                if url is not None:
                    yield url.removeprefix("http://")
                    return
            raise BenchmarkError("the registry did not start")
        finally:
            process.terminate()


def _rates(address: str, connections: int, seconds: float) -> Iterator[tuple[str, float]]:
    """Requests a second, by name: registrations of a new schema in a subject of its own, repeated registrations, and
    lookups by schema, by id and of the latest version."""
    mark = f"c{connections}"
    # before it accepts a write, the registry becomes the primary
    _rate(address, 1, 0.1, lambda n: _register("first", "0"))
    yield "register_in_own_subject_per_s", _rate(address, connections, seconds, lambda n: _register(f"{mark}-{n}", n))
    yield "register_again_per_s", _rate(address, connections, seconds, lambda n: _register(f"{mark}-0-0", "0-0"))
    yield "look_up_schema_per_s", _rate(address, connections, seconds, lambda n: _post(f"/subjects/{mark}-0-0", "0-0"))
    yield "schema_of_id_per_s", _rate(address, connections, seconds, lambda n: ("GET", "/schemas/ids/1", None))
    yield (
        "latest_version_per_s",
        _rate(address, connections, seconds, lambda n: ("GET", f"/subjects/{mark}-0-0/versions/latest", None)),
    )


Request = tuple[str, str, "str | None"]


def _register(subject: str, number: str) -> Request:
    return _post(f"/subjects/{subject}/versions", number)


def _post(path: str, number: str) -> Request:
    fields = [{"name": f"field_{number.replace('-', '_')}", "type": "long"}, {"name": "note", "type": "string"}]
    schema = {"type": "record", "name": "Order", "fields": fields}
    return "POST", path, json.dumps({"schema": json.dumps(schema)})


def _rate(address: str, connections: int, seconds: float, request_of: Callable[[str], Request]) -> float:
    """Requests a second. ``request_of`` makes each request from the numbers of connection and request, such as
    ``3-17``."""
    counts, problems = [0] * connections, []
    end = time.perf_counter() + seconds

    def ask(number: int) -> None:
        connection = HTTPConnection(address, timeout=60)
        while time.perf_counter() < end:
            method, path, body = request_of(f"{number}-{counts[number]}")
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                problems.append(f"{method} {path}: {answer.status} {text!r}")
                return
            counts[number] += 1
        connection.close()

    began = time.perf_counter()
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise BenchmarkError(problems[0])
    return sum(counts) / (time.perf_counter() - began)
