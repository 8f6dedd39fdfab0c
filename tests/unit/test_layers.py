"""What import-linter's contracts in ``pyproject.toml`` leave open: circles of imports within a layer."""

from __future__ import annotations

import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "oncelog"

IMPORT_THE_BROKER = {
    "oncelog.broker.faults.interceptor",
    "oncelog.broker.metrics.broker_series",
    "oncelog.broker.metrics.share_series",
    "oncelog.broker.metrics.broker_source",
    "oncelog.broker.metrics.shell",
    "oncelog.apps.promote.completion",
    "oncelog.broker.server.connections.connection_limits",
    "oncelog.broker.server.listeners.acceptors",
    "oncelog.broker.server.listeners.live_listeners",
    "oncelog.broker.server.opening",
    "oncelog.broker.server.connections.sending",
    "oncelog.broker.server.server",
    "oncelog.broker.server.disk.syncing",
}


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module: each module reaches each other one."""

    def reached(start: str, edges: dict[str, set[str]]) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for module in edges[waiting.pop()] - found:
                found.add(module)
                waiting.append(module)
        return found

    importers: dict[str, set[str]] = {module: set() for module in imports}
    for module, imported in imports.items():
        for name in imported:
            importers[name].add(module)
    components = []
    left = set(imports)
    while left:
        module = min(left)
        component = (reached(module, imports) & reached(module, importers)) | {module}
        left -= component
        if len(component) > 1:
            components.append(component)
    return components


def test_circular_imports_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": set()}) == [{"b", "c"}]


def test_no_modules_import_each_other_circularly() -> None:
    """Imports for type checkers are counted."""
    graph = grimp.build_graph("oncelog", exclude_type_checking_imports=False, cache_dir=None)
    assert circles({module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}) == []


def test_only_packages_that_run_or_observe_a_broker_import_it() -> None:
    """Everything else names what it needs in a protocol."""
    graph = grimp.build_graph("oncelog", exclude_type_checking_imports=False, cache_dir=None)
    assert graph.find_modules_that_directly_import("oncelog.broker.core.broker") == IMPORT_THE_BROKER


def test_the_contract_about_testing_names_every_module() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (named,) = (set(contract["source_modules"]) for contract in contracts if "imports testing" in contract["name"])
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert named == {f"oncelog.{name}" for name in there - {"testing", "pytest_plugin", "__init__", "__main__"}}
