"""Where the tests of each module are: in ``tests/unit/PATH/test_MODULE.py``, or where the table here says."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "oncelog"
UNIT = ROOT / "tests" / "unit"


class Elsewhere(NamedTuple):
    """Where modules of a folder are tested that have no file of their own, as a path in ``tests``, and why."""

    path: str
    why: str


ON_BOTH = "what users rely on is compared on our broker and on Apache Kafka"
BY_BEHAVIOUR = "tests are named by a behaviour that several modules of the folder produce together"
WHOLE_PROGRAM = "a command is tested as users run it"
NEEDS_SPARK = "what these modules do shows only in a Spark session"

ELSEWHERE = {
    "aiokafka": Elsewhere("integration/aiokafka", ON_BOTH),
    "apps/conformance": Elsewhere("integration/conformance", "the checks are tests; they run on both brokers"),
    "apps/console": Elsewhere("integration/console", "pages are tested in a browser"),
    "apps/demo": Elsewhere("integration/demo", WHOLE_PROGRAM),
    "apps/export": Elsewhere("integration/export", WHOLE_PROGRAM),
    "apps/lab": Elsewhere("integration/lab", WHOLE_PROGRAM),
    "apps/mirror": Elsewhere("integration/mirror", WHOLE_PROGRAM),
    "apps/promote": Elsewhere("compatibility/interop/promote", "Apache Kafka starts on what they write"),
    "apps/proxy": Elsewhere("integration/faults", "the proxy stands in front of both brokers"),
    "apps/redrive": Elsewhere("integration/redrive", WHOLE_PROGRAM),
    "apps/verify": Elsewhere("unit/apps/verify/test_broken_logs.py", "each fault is planted in a log, and found"),
    "atomic": Elsewhere("integration/atomic", "databases and brokers are killed between the steps"),
    "broker/coordinator": Elsewhere("unit/broker/coordinator", BY_BEHAVIOUR),
    "broker/core": Elsewhere("unit/broker/core", BY_BEHAVIOUR),
    "broker/faults": Elsewhere("integration/faults", "faults are injected below unmodified clients"),
    "broker/log": Elsewhere("unit/broker/log", BY_BEHAVIOUR),
    "broker/metadata": Elsewhere("unit/broker/metadata", BY_BEHAVIOUR),
    "broker/metrics": Elsewhere("integration/metrics", "series are read as Prometheus reads them"),
    "broker/server": Elsewhere("unit/broker/server", BY_BEHAVIOUR),
    "cli": Elsewhere("integration/cli", WHOLE_PROGRAM),
    "client": Elsewhere("integration/client", ON_BOTH),
    "client/core": Elsewhere("unit/client/core", BY_BEHAVIOUR),
    "embedded.py": Elsewhere("integration/faults/test_inside.py", "it joins the broker, its faults and the registry"),
    "errors.py": Elsewhere("unit/test_reference.py", "holds classes and no decisions"),
    "protocol": Elsewhere("unit/protocol", BY_BEHAVIOUR),
    "pytest_plugin.py": Elsewhere("integration/faults/test_pytest_plugin.py", "runs in a pytest of its own"),
    "records": Elsewhere("property/records", "the compiled and the pure functions must agree"),
    "runtime": Elsewhere("unit/runtime", BY_BEHAVIOUR),
    "schema_registry": Elsewhere("integration/schema_registry", "asked as Confluent's clients ask"),
    "schemas": Elsewhere("integration/schema_registry", "each reader is compared with the others, and with Java"),
    "schemas/arrow": Elsewhere("unit/schemas/arrow", BY_BEHAVIOUR),
    "schemas/avro": Elsewhere("integration/schema_registry", "resolution and defaults are compared with Java's Avro"),
    "settings": Elsewhere("unit/test_settings_are_read.py", "a table; each entry must have the effect it names"),
    "spark": Elsewhere("integration/spark", NEEDS_SPARK),
    "spark/pipeline": Elsewhere("integration/pipeline", NEEDS_SPARK),
    "spark/tables": Elsewhere("integration/tables", "written to real tables and databases"),
    "telemetry.py": Elsewhere(
        "integration/client/test_telemetry.py", "spans are read from OpenTelemetry's own exporter"
    ),
    "testing": Elsewhere("integration/faults", "used as users' tests use it"),
    "testing/history": Elsewhere("integration/verify", "judges histories of real clients"),
    "testing/simulation": Elsewhere("simulation", "a seed runs all of it"),
}
"""By folder or module of ``src/oncelog``; the longest that matches holds."""


@cache
def without_own_file() -> list[str]:
    modules = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py"))]
    return [
        path.as_posix()
        for path in modules
        if path.parent.name != "generated"
        and path.name not in {"__init__.py", "__main__.py"}
        and not (UNIT / path.parent / f"test_{path.name}").is_file()
    ]


def row(module: str) -> str:
    fitting = [key for key in ELSEWHERE if module == key or module.startswith(f"{key}/")]
    return max(fitting, key=len, default="")


def test_modules_without_a_test_of_their_own_are_tested_elsewhere() -> None:
    assert [module for module in without_own_file() if not row(module)] == []


def test_modules_listed_as_tested_elsewhere_have_no_test_file_of_their_own() -> None:
    assert set(ELSEWHERE) - {row(module) for module in without_own_file()} == set()


def test_every_listed_place_contains_tests() -> None:
    for place in ELSEWHERE.values():
        path = ROOT / "tests" / place.path
        assert path.is_file() or list(path.rglob("test_*.py")), place.path
