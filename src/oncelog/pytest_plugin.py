"""The pytest plugin: a broker for tests, a topic for each test, faults by name. Loaded through pytest's entry point.

``@pytest.mark.oncelog_simulation(seeds=200)`` runs an ``async def`` test in virtual time, once for each seed
(:mod:`oncelog.testing.simulation`).

Fixtures: ``oncelog_broker``, ``oncelog_topic``, ``oncelog_faults``, ``oncelog_clock``. Marker:
``@pytest.mark.oncelog(settings={...}, data="folder", nodes=3)`` gives a test its own broker.
``--kafka-bootstrap-server HOST:PORT`` runs the same tests against an existing cluster. No part of oncelog is imported
until a test uses a fixture.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from oncelog.apps.proxy.proxy import FaultProxy
    from oncelog.broker.faults.rules import Faults
    from oncelog.embedded import Broker
    from oncelog.testing.brokers import Embedded, ExistingCluster

_MARKER = "oncelog"
_OPTIONS = ("settings", "data", "nodes")
_SIMULATION = "oncelog_simulation"
_SIMULATION_OPTIONS = ("seeds", "first", "nodes", "settings", "faults", "calm_s", "limit_s", "network")
_numbers = itertools.count(1)


class _PlainModuleFinder:
    """Finds oncelog's modules without pytest's assertion rewriting.

    Pytest rewrites the assertions of every module of a plugin's distribution, although these modules have none. That
    would take seconds before the first broker if the result is not cached, as in a fresh environment.
    """

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return PathFinder.find_spec(fullname, path, target) if fullname.partition(".")[0] == "oncelog" else None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    finder = _PlainModuleFinder()
    sys.meta_path.insert(0, finder)
    early_config.add_cleanup(lambda: sys.meta_path.remove(finder))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("oncelog", "tests with Kafka")
    group.addoption(
        "--kafka-bootstrap-server",
        metavar="HOST:PORT",
        help="run the tests against this cluster instead of an embedded broker",
    )
    group.addoption("--oncelog-seeds", type=int, metavar="N", help="run each simulation with this number of seeds")
    group.addoption("--oncelog-seed", type=int, metavar="SEED", help="run each simulation with only this seed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "oncelog(settings=None, data=None, nodes=1): give this test its own broker, with these settings",
    )
    config.addinivalue_line(
        "markers",
        f"{_SIMULATION}(seeds=100, {', '.join(f'{name}=...' for name in _SIMULATION_OPTIONS[1:])}): run this coroutine "
        "in virtual time, with simulated brokers and faults, once for each seed",
    )


@pytest.fixture(scope="session")
def _oncelog_session_broker(request: pytest.FixtureRequest) -> Iterator[Embedded | ExistingCluster]:
    from oncelog.testing.brokers import Embedded, ExistingCluster

    server = request.config.getoption("--kafka-bootstrap-server")
    with ExistingCluster(server) if server else Embedded({}) as broker:
        yield broker


@pytest.fixture
def oncelog_broker(request: pytest.FixtureRequest) -> Iterator[Embedded | ExistingCluster]:
    """A broker in memory, shared by the session: an ``oncelog.Broker`` with an admin client. A test's topics, groups,
    transactions and faults are removed before the next test; its settings, quotas and users are not.

    Clients connect to ``oncelog_broker.bootstrap_servers``. With the marker ``oncelog`` the test has its own broker.
    With an existing cluster, only the attributes of ``TestBroker`` are available.
    """
    from oncelog.testing.brokers import Embedded

    marker = request.node.get_closest_marker(_MARKER)
    if marker is None:
        broker: Embedded | ExistingCluster = request.getfixturevalue("_oncelog_session_broker")
        yield broker
        broker.clean()
        return
    if request.config.getoption("--kafka-bootstrap-server"):
        pytest.skip("the test needs a broker with its own settings, which an existing cluster cannot be given")
    options = _options(marker)
    folder = _folder(options.get("data"), request)
    with Embedded(options.get("settings") or {}, folder, options.get("nodes", 1)) as own:
        yield own


def _options(marker: pytest.Mark) -> dict[str, Any]:
    unknown = sorted(marker.kwargs.keys() - set(_OPTIONS))
    if marker.args or unknown:
        wrong = repr(marker.args[0]) if marker.args else unknown[0]
        raise pytest.UsageError(f"the marker oncelog takes {', '.join(_OPTIONS)} by name, not {wrong}")
    settings = marker.kwargs.get("settings")
    if not isinstance(settings, Mapping | None):
        raise pytest.UsageError(f'the marker oncelog takes settings={{"NAME": VALUE}}, not {settings!r}')
    return dict(marker.kwargs)


def _folder(data: object, request: pytest.FixtureRequest) -> Path | None:
    if data is None:
        return None
    if data != "folder":
        raise pytest.UsageError(f'the marker oncelog takes data="folder" (in the test\'s tmp_path), not {data!r}')
    # requested only for data="folder": under pyfakefs pytest cannot create it
    tmp_path: Path = request.getfixturevalue("tmp_path")
    return tmp_path / "oncelog-data"


@pytest.fixture
def oncelog_topic(oncelog_broker: Embedded | ExistingCluster) -> str:
    """The name of a topic with one partition, used only by this test."""
    return oncelog_broker.create_topic(f"test-{next(_numbers)}")


@pytest.fixture
def oncelog_faults(oncelog_broker: Embedded | ExistingCluster, request: pytest.FixtureRequest) -> Iterator[Faults]:
    """Faults by name, in the broker or, with an existing cluster, in front of it; removed after the test.

    With an existing cluster, this test's clients must read ``oncelog_broker.bootstrap_servers`` after this fixture has
    been set up, because it then leads through a proxy. The report of a failed test lists the faults that struck.
    """
    from oncelog.apps.proxy.proxy import FaultProxy
    from oncelog.testing.brokers import Embedded

    proxy: FaultProxy
    if isinstance(oncelog_broker, Embedded):
        faults = oncelog_broker.faults
        request.node.stash[_FAULTS] = faults
        faults.report()
        yield faults
        faults.clear()
        return
    with FaultProxy(oncelog_broker.bootstrap_servers) as proxy, oncelog_broker.behind(proxy):
        request.node.stash[_FAULTS] = proxy.faults
        yield cast("Faults", _FaultsOfProxy(proxy.faults))


@pytest.fixture
def oncelog_schema_registry(oncelog_broker: Embedded | ExistingCluster) -> Iterator[str]:
    """The URL of a schema registry in front of ``oncelog_broker``, empty at the beginning of each test.

    On an existing cluster it keeps its schemas in a topic of its own, which is deleted after the test.
    """
    from oncelog.testing.registries import registry_of

    with registry_of(oncelog_broker) as url:
        yield url


class _FaultsOfProxy:
    """The faults in front of an existing cluster. A test that uses a fault inside the broker is skipped."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        from oncelog.broker.faults.embedded import BrokerFaults

        if hasattr(BrokerFaults, name) and not hasattr(self._faults, name):
            pytest.skip(f"{name} needs an embedded broker, and the tests run against an existing cluster")
        return getattr(self._faults, name)


class Clock:
    """The broker's clock, which a test may set forward."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def advance(self, seconds: float) -> None:
        """Set the broker's clock forward: transactions, sessions and records that expire within this time do so now.

        :param seconds: how much time passes; above 0.
        """
        self._broker.pass_time(seconds)


@pytest.fixture
def oncelog_clock(oncelog_broker: Embedded | ExistingCluster) -> Clock:
    """The broker's clock: ``oncelog_clock.advance(3600)`` lets an hour pass for the broker. It is best used with the
    test's own broker (marker ``oncelog``)."""
    from oncelog.testing.brokers import Embedded

    if not isinstance(oncelog_broker, Embedded):
        pytest.skip("the clock of an existing cluster cannot be set forward")
    return Clock(oncelog_broker)


@pytest.fixture
def oncelog_simulation(request: pytest.FixtureRequest) -> Any:
    """The simulated world of a test with the marker ``oncelog_simulation``; each seed has its own world."""
    if request.node.get_closest_marker(_SIMULATION) is None:
        raise pytest.UsageError(
            "the fixture oncelog_simulation needs the marker of that name: decorate the test with it"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test once for each seed; shrink a failure and report its timeline."""
    marker = pyfuncitem.get_closest_marker(_SIMULATION)
    if marker is None:
        return None
    _simulate(pyfuncitem, _simulation_options(marker))
    return True


def _simulation_options(marker: pytest.Mark) -> dict[str, Any]:
    unknown = sorted(marker.kwargs.keys() - set(_SIMULATION_OPTIONS))
    if marker.args or unknown:
        wrong = repr(marker.args[0]) if marker.args else unknown[0]
        raise pytest.UsageError(f"the marker {_SIMULATION} takes {', '.join(_SIMULATION_OPTIONS)} by name, not {wrong}")
    return dict(marker.kwargs)


def _simulate(item: pytest.Function, options: dict[str, Any]) -> None:
    import inspect

    from oncelog.testing.simulation import Simulation, SimulationSettings, explore

    if not inspect.iscoroutinefunction(item.obj):
        raise pytest.UsageError(f"{item.name} is not a coroutine: a simulation runs 'async def' tests")
    seeds, first = options.pop("seeds", 100), options.pop("first", 0)
    wanted = item.config.getoption("--oncelog-seeds")
    alone = item.config.getoption("--oncelog-seed")
    numbers = range(first, first + (wanted or seeds)) if alone is None else range(alone, alone + 1)
    names = item._fixtureinfo.argnames
    given = {name: item.funcargs[name] for name in names if name != _SIMULATION}

    async def main(world: Simulation) -> None:
        own = {_SIMULATION: world} if _SIMULATION in names else {}
        await item.obj(**given, **own)

    failure = explore(main, numbers, SimulationSettings(**options))
    if failure is not None:
        failure.error.add_note(f"{failure}\nagain: pytest {item.nodeid!r} --oncelog-seed {failure.seed}")
        raise failure.error


_FAULTS: pytest.StashKey[Any] = pytest.StashKey()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if report.when != "call" or not report.failed:
        return report
    faults = item.stash.get(_FAULTS, None)
    if faults is not None:
        report.sections.append(("faults", "\n".join(faults.report()) or "no faults were set"))
    broker = getattr(item, "funcargs", {}).get("oncelog_broker")
    taken: list[str] = getattr(broker, "taken_by_retention", list)()
    if taken:
        report.sections.append(("removed by retention", "\n".join(taken)))
    return report
