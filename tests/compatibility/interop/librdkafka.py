"""librdkafka's own test programs against three nodes of ours: ``python -m tests.compatibility.interop.librdkafka
[NUMBER ...]``.

``--kafka``: against three real Apache Kafkas, for comparison: what fails there, too, is the suite's.

The sources, tests included, come with the crate rdkafka-sys through cargo, and are built once in ``.cache/interop``
(C and C++ compilers, make; some minutes). Each test runs in a process of its own, at most ``LIMIT_S``; exit status 1 if
one failed. Left out are those of its mock broker, those that want other tools of a cluster (``KAFKA_PATH``, SSL, OIDC),
those that assert times, and 0129, which wants segments smaller than Apache Kafka 4 allows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oncelog import Broker
from tests.support.apache_kafka import KAFKA_VERSION
from tests.support.kafka_cluster import KafkaCluster

CRATE = "rdkafka-sys"
VERSION = "4.10.0+2.12.1"
FOLDER = Path(__file__).parents[3] / ".cache" / "interop" / "librdkafka"
LIMIT_S = 300
NUMBERS = """
0001 0002 0003 0005 0007 0008 0011 0012 0013 0014 0015 0016 0017 0018 0019 0020 0021 0022 0026 0029 0030 0031 0033 0034
0035 0036 0039 0040 0041 0042 0044 0045 0048 0049 0050 0051 0054 0056 0057 0059 0060 0061 0062 0063 0064 0065 0067 0068
0069 0070 0073 0074 0076 0081 0083 0085 0086 0089 0090 0094 0098 0099 0100 0102 0103 0106 0107 0110 0112 0113 0114 0116
0118 0120 0121 0122 0123 0125 0127 0130 0132 0137 0140
"""
SETTINGS = {
    "num.partitions": 4,
    "default.replication.factor": 3,
    "group.initial.rebalance.delay.ms": 0,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
}


def build() -> Path:
    """The folder of the built test programs."""
    tests = FOLDER / "librdkafka" / "tests"
    if not (tests / "test-runner").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        manifest = (
            f'[package]\nname = "x"\nversion = "0.1.0"\n[lib]\npath = "x.rs"\n[dependencies]\n{CRATE} = "={VERSION}"\n'
        )
        (FOLDER / "Cargo.toml").write_text(manifest)
        (FOLDER / "x.rs").touch()
        subprocess.run(["cargo", "vendor", "--quiet", "vendor"], cwd=FOLDER, stdout=subprocess.DEVNULL, check=True)
        shutil.copytree(FOLDER / "vendor" / CRATE / "librdkafka", tests.parent, dirs_exist_ok=True)
        for command, folder in (
            (["bash", "./configure", "--disable-sasl", "--disable-curl"], tests.parent),
            (["make", "libs"], tests.parent),
            (["make", "test-runner"], tests),
        ):
            subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return tests


def passes(tests: Path, number: str, servers: str) -> bool:
    """Run one test; its output lies beside its program."""
    libraries = ":".join(str(tests.parent / name) for name in ("src", "src-cpp"))
    environment = {"LD_LIBRARY_PATH": libraries, "TEST_KAFKA_VERSION": KAFKA_VERSION, "TESTS": number}
    settings = tests / "test.conf"
    settings.write_text(f"bootstrap.servers={servers}\ntest.timeout.multiplier=3\n")
    reported = tests / f"told-{number}.log"
    with reported.open("wb") as output:
        try:
            done = subprocess.run(
                ["./test-runner", "-Q", "-p1"],
                cwd=tests,
                env={**os.environ, **environment},
                stdout=output,
                stderr=output,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


@contextmanager
def three_brokers(*, kafka: bool) -> Iterator[str]:
    """The bootstrap servers of three nodes."""
    if not kafka:
        with Broker(nodes=3, settings=SETTINGS) as broker:
            yield broker.bootstrap_servers
        return
    properties = {name: str(value) for name, value in SETTINGS.items()}
    with tempfile.TemporaryDirectory() as folder, KafkaCluster(Path(folder), properties) as cluster:
        yield cluster.bootstrap_servers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility.interop.librdkafka")
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="of tests; else all")
    parser.add_argument("--kafka", action="store_true", help="against three Apache Kafkas")
    options = parser.parse_args()
    tests, chosen = build(), options.numbers or NUMBERS.split()
    failed = []
    with three_brokers(kafka=options.kafka) as servers:
        for number in chosen:
            passed = passes(tests, number, servers)
            print(number, "passed" if passed else f"FAILED: {tests / f'told-{number}.log'}", flush=True)
            failed += [] if passed else [number]
    print(f"{len(chosen) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
