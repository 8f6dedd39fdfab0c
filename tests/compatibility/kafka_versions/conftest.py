"""Each test here runs on several releases of Apache Kafka; ``make test-all`` has the oldest, ``make soak`` the others.

With ``ONCELOG_KAFKA_VERSIONS_RESULTS`` the results of all tests that have the marker ``case`` are kept in that file,
from which ``tools.document_kafka_versions`` makes the table of the documentation.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.compatibility.kafka_versions.versions import RELEASES, SHORT
from tests.support.apache_kafka import ApacheKafka
from tests.support.version_results import VersionResults

HERE = Path(__file__).parent
RESULTS = VersionResults("ONCELOG_KAFKA_VERSIONS_RESULTS", (2, 8), (5, 0))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("kafka")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kafka" not in metafunc.fixturenames:
        return
    case = metafunc.definition.get_closest_marker("case")
    least, below = RESULTS.releases_of(case)
    short = case.kwargs.get("short", ()) if case else SHORT
    rows = [
        pytest.param(name, id=name.replace(" ", "-"), marks=[] if name in short else [pytest.mark.soak])
        for name, one in RELEASES.items()
        if least <= one.release < below
    ]
    metafunc.parametrize("kafka", rows, indirect=True, scope="package")


@pytest.fixture(scope="package")
def kafka(request: pytest.FixtureRequest) -> Iterator[ApacheKafka]:
    """A node of one release, for all tests on it."""
    with RELEASES[request.param].node() as node:
        yield node


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.get_closest_marker("case") is not None:
        RESULTS.note(item, report, item.callspec.params["kafka"])  # type: ignore[attr-defined]
    return report
