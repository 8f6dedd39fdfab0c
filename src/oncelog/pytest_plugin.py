"""The pytest plugin: a broker for the tests, a topic for each, faults by name. Loaded by pytest's entry point.

Fixtures: ``oncelog_broker``, ``oncelog_topic``, ``oncelog_faults``. Marker: ``@pytest.mark.oncelog(settings={...},
data="folder")`` gives a test a broker of its own. ``--kafka-bootstrap-server HOST:PORT`` runs the same tests against a
cluster that is there. Nothing of oncelog is imported until a test asks for a fixture.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from oncelog.faults.proxy import FaultProxy
    from oncelog.faults.rules import Faults
    from oncelog.testing.brokers import TestBroker

_MARKER = "oncelog"
_OPTIONS = ("settings", "data")
_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("oncelog", "tests with Kafka")
    group.addoption(
        "--kafka-bootstrap-server",
        metavar="HOST:PORT",
        help="run the tests against this cluster instead of an embedded broker",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "oncelog(settings=None, data=None): a broker of its own for this test, with these settings"
    )


@pytest.fixture(scope="session")
def _oncelog_session_broker(request: pytest.FixtureRequest) -> Iterator[TestBroker]:
    from oncelog.testing.brokers import ClusterThere, Embedded

    server = request.config.getoption("--kafka-bootstrap-server")
    with ClusterThere(server) if server else Embedded({}) as broker:
        yield broker


@pytest.fixture
def oncelog_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TestBroker]:
    """A broker in memory, shared by the session; what a test leaves on it is gone before the next one.

    ``oncelog_broker.bootstrap_servers`` is what clients want. With the marker ``oncelog`` it is the test's own.
    """
    from oncelog.testing.brokers import Embedded

    marker = request.node.get_closest_marker(_MARKER)
    if marker is None:
        broker: TestBroker = request.getfixturevalue("_oncelog_session_broker")
        yield broker
        broker.clean()
        return
    if request.config.getoption("--kafka-bootstrap-server"):
        pytest.skip("the test wants a broker of its own settings, which a cluster that is there cannot become")
    options = _options(marker)
    with Embedded(options.get("settings") or {}, _folder(options.get("data"), tmp_path)) as own:
        yield own


def _options(marker: pytest.Mark) -> dict[str, Any]:
    unknown = sorted(marker.kwargs.keys() - set(_OPTIONS))
    if marker.args or unknown:
        wrong = repr(marker.args[0]) if marker.args else unknown[0]
        raise pytest.UsageError(f"the marker oncelog takes {' and '.join(_OPTIONS)} by name, not {wrong}")
    return dict(marker.kwargs)


def _folder(data: object, tmp_path: Path) -> Path | None:
    if data is None:
        return None
    if data != "folder":
        raise pytest.UsageError(f'the marker oncelog takes data="folder" (in the test\'s tmp_path), not {data!r}')
    return tmp_path / "oncelog-data"


@pytest.fixture
def oncelog_topic(oncelog_broker: TestBroker) -> str:
    """The name of a topic with one partition that this test alone uses."""
    return oncelog_broker.create_topic(f"test-{next(_numbers)}")


@pytest.fixture
def oncelog_faults(oncelog_broker: TestBroker, request: pytest.FixtureRequest) -> Iterator[Faults]:
    """Faults by name between the test's clients and the broker; gone after the test.

    Clients of this test must connect to ``oncelog_broker.bootstrap_servers`` after the fixture was asked for: it leads
    through the faults then. What struck is in the report of a test that fails.
    """
    from oncelog.faults.proxy import FaultProxy

    proxy: FaultProxy
    with FaultProxy(oncelog_broker.bootstrap_servers) as proxy, oncelog_broker.behind(proxy):
        request.node.stash[_FAULTS] = proxy.faults
        yield proxy.faults


_FAULTS: pytest.StashKey[Any] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    faults = item.stash.get(_FAULTS, None)
    if faults is not None and report.when == "call" and report.failed:
        report.sections.append(("faults", "\n".join(faults.report()) or "none was made"))
    return report
