"""Each test here runs in an environment with one PySpark: ``make test`` has some on one of them, ``make soak`` all.

With ``ONCELOG_SPARK_VERSIONS_RESULTS`` the results of all tests that have the marker ``case`` are kept in that file,
from which ``tools.document_spark_versions`` makes the table of the documentation; those of the same case in the same
environment are replaced.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.compatibility.spark_versions.environments import ENVIRONMENTS, SHORT, Environment
from tests.compatibility.spark_versions.running import Program
from tests.support.version_results import VersionResults

HERE = Path(__file__).parent
RESULTS = VersionResults("ONCELOG_SPARK_VERSIONS_RESULTS", (3, 5), (5, 0))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "environment" not in metafunc.fixturenames:
        return
    case = metafunc.definition.get_closest_marker("case")
    least, below = RESULTS.releases_of(case)
    chosen = [one for one in ENVIRONMENTS.values() if least <= one.release < below]
    is_short = case is None or case.kwargs.get("short", True)
    rows = [
        pytest.param(one, id=one.name, marks=[] if is_short and one.name == SHORT else [pytest.mark.soak])
        for one in chosen
    ]
    metafunc.parametrize("environment", rows, scope="module")  # so that those of one environment run together


@pytest.fixture(scope="module")
def program(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A session in this environment, for all tests of the module."""
    found = Program(environment, tmp_path_factory.mktemp("program") / "program.log")
    yield found
    found.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.get_closest_marker("case") is not None:
        environment: Environment = item.callspec.params["environment"]  # type: ignore[attr-defined]
        RESULTS.note(item, report, environment.name)
    return report
