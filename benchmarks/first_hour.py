"""Measures the waits of a user's first hour, and the size of an installation: ``python -m benchmarks.first_hour``.

Sizes are those of the installed distributions with their dependencies, without compiled Python files. Imports are the
minimum CPU time of several runs, without Python's own start. Steps are minimum wall times of a program's first steps,
each in a separate process where the import is a part of the step. Takes about 30 s.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

import oncelog
from benchmarks.servers import Oncelog, Usage

PACKAGES = (
    *("oncelog", "oncelog[cli]", "oncelog[cli,console]", "oncelog[spark]"),
    *("aiokafka", "kafka-python", "confluent-kafka", "pyspark"),
)
IMPORTS = {
    "oncelog": "import oncelog",
    "oncelog's blocking clients": "from oncelog import Admin, Consumer, Producer",
    "oncelog's asyncio clients": "from oncelog.client.aio import Admin, Consumer, Producer",
    "oncelog's broker": "from oncelog import Broker",
    "aiokafka": "import aiokafka, aiokafka.admin",
    "kafka-python": "import kafka",
    "confluent-kafka": "import confluent_kafka, confluent_kafka.admin",
}
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""The environment of programs whose modules Python compiles once, as an installation does."""
BROKER = "import oncelog; broker = oncelog.Broker(); broker.start(); broker.stop()"


def _needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> Iterator[Distribution]:
    """The installed distribution of this name and, recursively, those that it requires: each once for each set of
    extras."""
    key = name.lower().replace("_", "-"), extras
    if key in seen:
        return
    seen.add(key)
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return  # not installed: a requirement for another operating system or Python version
    yield found
    for text in found.requires or ():
        wanted = Requirement(text)
        marker = wanted.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras or {""}):
            yield from _needed(wanted.name, frozenset(wanted.extras), seen)


def _size(found: Distribution) -> int:
    """The size of a distribution's files in bytes; for oncelog, which is installed editable, of the files that a wheel
    would contain."""
    if found.name == "oncelog":
        package = Path(oncelog.__file__).parent
        held = (path for path in package.rglob("*") if path.suffix not in (".pyc", ".pyx", ".pxd") and path.is_file())
        return sum(path.stat().st_size for path in held)
    paths = [Path(str(found.locate_file(path))) for path in found.files or () if path.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


def install_size(package: str) -> tuple[int, int]:
    """The size in bytes of a package with all distributions that it requires, and the number of all these
    distributions."""
    asked = Requirement(package)
    found = {item.name: item for item in _needed(asked.name, frozenset(asked.extras), set())}
    return sum(map(_size, found.values())), len(found)


def _cpu_s(program: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], env=COMPILED, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def import_ms(program: str, rounds: int) -> float:
    return 1000 * (min(_cpu_s(program) for _ in range(rounds)) - min(_cpu_s("pass") for _ in range(rounds)))


def _least_ms(work: Callable[[int], None], rounds: int) -> float:
    taken = []
    for number in range(rounds):
        begin = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - begin)
    return 1000 * min(taken)


def first_answer(rounds: int) -> tuple[float, float]:
    """Measure ``oncelog serve`` with a new data folder: milliseconds until its first answer, and its memory in MB at
    that time."""
    taken, held = [], []
    for _ in range(rounds + 1):  # in the first run Python compiles the modules
        server = Oncelog()
        try:
            taken.append(1000 * server.start())
            held.append(Usage(server).rss_mb)
        finally:
            server.stop()
            shutil.rmtree(server.folder)
    return min(taken), min(held)


def plugin_ms(rounds: int) -> float:
    """CPU time that the plugin adds to a pytest run whose only test uses no broker."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        run = "import pytest, sys; sys.exit(pytest.main({!r}))"
        with_it = ["-q", "-p", "no:cacheprovider", folder]
        without = ["-p", "no:oncelog", *with_it]
        both = [[_cpu_s(run.format(words)) for words in (with_it, without)] for _ in range(rounds + 1)]
    with_s, without_s = map(min, zip(*both, strict=True))
    return 1000 * (with_s - without_s)


def steps(rounds: int) -> dict[str, float]:
    """Milliseconds of the steps of a first program, against a broker in memory with default settings."""
    found = {
        "start and stop a broker in memory, imports included": _least_ms(
            lambda _: (subprocess.run([sys.executable, "-c", BROKER], env=COMPILED, check=True), None)[1], rounds
        )
    }
    with oncelog.Broker() as broker:
        servers = broker.bootstrap_servers
        with oncelog.Admin(bootstrap_servers=servers) as admin:
            found["create a topic"] = _least_ms(
                lambda n: admin.create_topics([oncelog.NewTopic(f"a{n}", 1, 1)]), rounds
            )
        with oncelog.Producer(bootstrap_servers=servers) as producer:
            found["the first record of a topic that is not there yet"] = _least_ms(
                lambda n: producer.send_and_wait(f"b{n}", b"v") and None, rounds
            )

            def refused(_: int) -> None:
                try:
                    producer.send_and_wait("b0", "text")  # type: ignore[arg-type]
                except TypeError:
                    return
                raise AssertionError("text is no bytes")

            found["a text for bytes, until it is refused"] = _least_ms(refused, rounds)

        def joined(number: int) -> None:
            asked = {"group_id": f"g{number}", "auto_offset_reset": "earliest"}
            with oncelog.Consumer("b0", bootstrap_servers=servers, **asked) as consumer:  # type: ignore[arg-type]
                assert consumer.getone().value == b"v"

        found["join a group, read its first record, leave"] = _least_ms(joined, rounds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    sizes = {name: install_size(name) for name in PACKAGES}
    imports = {name: import_ms(program, options.rounds) for name, program in IMPORTS.items()}
    waited = steps(options.rounds)
    answered, held = first_answer(options.rounds)
    added = plugin_ms(2 * options.rounds)
    if options.json:
        print(
            json.dumps(
                {
                    "install": sizes,
                    "import_ms": imports,
                    "steps_ms": waited,
                    "plugin_ms": added,
                    "first_answer_ms": answered,
                    "first_answer_mb": held,
                },
                indent=2,
            )
        )
        return
    print("| installed | MB | distributions |\n|---|---:|---:|")
    for name, (size, count) in sizes.items():
        print(f"| `{name}` | {size / 1e6:.1f} | {count} |")
    print("\n| import | ms of CPU |\n|---|---:|")
    for name, took in imports.items():
        print(f"| {name} | {took:.0f} |")
    print("\n| step | ms |\n|---|---:|")
    for name, took in waited.items():
        print(f"| {name} | {took:.1f} |")
    print(f"| oncelog serve with a new folder, to its first answer; then {held:.1f} MB | {answered:.0f} |")
    print(f"| what the plugin adds to pytest, CPU | {added:.0f} |")


if __name__ == "__main__":
    main()
