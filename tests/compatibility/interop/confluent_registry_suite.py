"""The tests that Confluent's Python client has for schema registries, unchanged, on our registry: ``make
confluent-registry``, or ``python -m tests.compatibility.interop.confluent_registry_suite [FOLDER [PYTEST OPTION
...]]``.

FOLDER is a checkout of confluent-kafka-python, which git makes in ``.cache/interop`` if none is named: its packages
hold no tests. They run against an embedded broker and its registry. Exit status 1 if another test failed than those of
:data:`BEYOND`, or one of these passed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import oncelog
from tests.compatibility.interop.their_tests import CACHE, checkout, judge

REPOSITORY = "https://github.com/confluentinc/confluent-kafka-python"
TESTS = "tests/integration/schema_registry/_sync"
BEYOND = {"test_api_get_register_schema_invalid[kafka_cluster_cp_7_0_1-500-500]"}
"""It wants the status 500 of Confluent's registry 7.0.1 for an invalid schema; those after it answer 422, as ours."""
TRIVUP = "class KafkaCluster:\n    pass\n"
"""In place of the package that starts clusters: their fixtures import it also where they are given a cluster."""


def stand_in(folder: Path) -> Path:
    """A folder for PYTHONPATH."""
    clusters = folder / "trivup" / "clusters"
    clusters.mkdir(parents=True, exist_ok=True)
    (folder / "trivup" / "__init__.py").touch()
    (clusters / "__init__.py").touch()
    (clusters / "KafkaCluster.py").write_text(TRIVUP)
    return folder


def main(source: Path, options: list[str]) -> int:
    folder = CACHE / "confluent-kafka-python"
    report = folder / "report.xml"
    python_path = str(stand_in(folder / "stand-in"))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=native", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["--rootdir", str(source), f"--junitxml={report}", str(source / TESTS), *options]
    with oncelog.Broker(schema_registry=True) as broker:
        servers, url = broker.bootstrap_servers, broker.schema_registry_url
        named = {"BROKERS": servers, "SR_URL": url, "BROKERS_7_0_1": servers, "SR_URL_7_0_1": url}
        report.unlink(missing_ok=True)
        subprocess.run(command, cwd=source, env={**os.environ, **named, "PYTHONPATH": python_path}, check=False)
    return judge(report, BEYOND, complete=not options)


if __name__ == "__main__":
    release = f"v{version('confluent-kafka')}"
    named = Path(sys.argv[1]) if len(sys.argv) > 1 else checkout(REPOSITORY, release, CACHE / "confluent-kafka-python")
    sys.exit(main(named.resolve(), sys.argv[2:]))
