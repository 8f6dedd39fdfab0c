"""Each test here runs in an environment with one PySpark; ``make test`` has two of them, ``make soak`` the others.

With ``ONCELOG_SPARK_VERSIONS_RESULTS`` the results of all tests that have the marker ``case`` are kept in that file,
from which ``tools.document_spark_versions`` makes the table of the documentation; those of the same case in the same
environment are replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.spark_versions.environments import ENVIRONMENTS, SHORT, Environment

HERE = Path(__file__).parent
RESULTS = "ONCELOG_SPARK_VERSIONS_RESULTS"
_found: list[dict[str, Any]] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


def releases_of(case: pytest.Mark | None) -> tuple[tuple[int, int], tuple[int, int]]:
    """The least release that a case is about, and the first one above it."""
    given = {} if case is None else case.kwargs
    return given.get("least", (3, 5)), given.get("below", (5, 0))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "environment" not in metafunc.fixturenames:
        return
    case = metafunc.definition.get_closest_marker("case")
    least, below = releases_of(case)
    chosen = [one for one in ENVIRONMENTS.values() if least <= one.release < below]
    short = case.kwargs.get("short", SHORT) if case else SHORT
    rows = [pytest.param(one, id=one.name, marks=[] if one.name in short else [pytest.mark.soak]) for one in chosen]
    metafunc.parametrize("environment", rows)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    case = item.get_closest_marker("case")
    if case is not None and (report.when == "call" or report.outcome != "passed"):
        environment: Environment = item.callspec.params["environment"]  # type: ignore[attr-defined]
        result: dict[str, Any] = {"case": case.args[0], "environment": environment.name, "outcome": report.outcome}
        least, below = releases_of(case)
        result |= {"least": least, "below": below, "steps": case.kwargs.get("steps", 1)}
        _found.append(result | {"seconds": round(report.duration, 1), "holds": case.kwargs.get("holds", "yes")})
        if RESULTS in os.environ:
            _keep(Path(os.environ[RESULTS]))
    return report


def _keep(file: Path) -> None:
    kept = json.loads(file.read_text()) if file.exists() else []
    again = {(result["case"], result["environment"]) for result in _found}
    others = [result for result in kept if (result["case"], result["environment"]) not in again]
    file.write_text(json.dumps([*others, *_found], indent=1) + "\n")
