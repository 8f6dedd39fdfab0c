"""The page of the Python interface: every public name is on it, and documented."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import oncelog
from oncelog import errors, pytest_plugin, telemetry, testing
from oncelog.client import aio, blocking
from oncelog.client.core import client_errors
from oncelog.spark import pipeline, reporting, session
from oncelog.spark.tables import sink as table_sink
from oncelog.testing import simulation

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
ENTRY = re.compile(r"^::: (\S+)((?:\n    .*)*)", re.MULTILINE)


def own_names(module: ModuleType) -> list[str]:
    """What a module without ``__all__`` defines for others."""
    found = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return [name for name in found if not name.startswith("_") and not name.endswith(("Listener", "Reporter"))]


OTHER_NAMES = ("IllegalOperation", "MessageSizeTooLargeError")
"""aiokafka's names, for what has an entry."""

PUBLIC: dict[ModuleType, list[str]] = {
    oncelog: [name for name in oncelog.__all__ if name != "__version__"],
    aio: aio.__all__,
    blocking: blocking.__all__,
    testing: testing.__all__,
    simulation: simulation.__all__,
    session: [*own_names(session), "SETTINGS"],
    table_sink: ["to_table"],
    pipeline: ["Sink", "Source", "TableSink", "pipeline"],
    reporting: [*own_names(reporting), "ConsoleReporter"],
    telemetry: [*own_names(telemetry), "MAX_LINKS"],
    errors: own_names(errors),
    client_errors: [name for name in own_names(client_errors) if name[0].isupper() and name not in OTHER_NAMES],
    pytest_plugin: [name for name in vars(pytest_plugin) if name.startswith("oncelog_")],
}
"""The modules that programs, tests and pipelines import names from."""


def found(path: str) -> Any:
    """The object at a dotted path."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for name in parts[count:]:
            value = getattr(value, name)
        return value
    raise AssertionError(f"nothing is called {path}")


def on_the_page() -> dict[str, list[Any]]:
    """What has an entry, by its name: entries of modules bring what they define, or their ``members``."""
    entries: dict[str, list[Any]] = {}
    for path, given in ENTRY.findall(PAGE.read_text()):
        value = found(path)
        entries.setdefault(path.rpartition(".")[2], []).append(value)
        if isinstance(value, ModuleType):
            options = yaml.safe_load(given).get("options", {}) if given.strip() else {}
            for name in options.get("members", own_names(value)):
                entries.setdefault(name, []).append(getattr(value, name))
    return entries


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_every_public_name_is_on_the_page(module: ModuleType) -> None:
    entries = on_the_page()
    assert PUBLIC[module]
    missing = [
        name
        for name in PUBLIC[module]
        if not any(
            entry is (value := getattr(module, name))
            or (isinstance(value, type) and isinstance(entry, type) and issubclass(value, entry))
            for entry in entries.get(name, [])
        )
    ]
    assert missing == []


def test_every_method_on_the_page_says_what_it_does() -> None:
    silent = [
        f"{name}.{attribute}"
        for name, values in on_the_page().items()
        for value in values
        if isinstance(value, type) and value.__module__.startswith("oncelog.") and not issubclass(value, Exception)
        for attribute, member in inspect.getmembers_static(value)
        if not attribute.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
        if not inspect.getdoc(getattr(value, attribute))
    ]
    assert sorted(set(silent)) == ["Delivery.set_exception", "Delivery.set_result"]  # which the page leaves out


def test_every_function_and_class_on_the_page_has_a_docstring() -> None:
    values = [(name, value) for name, some in on_the_page().items() for value in some]
    assert len(values) >= 60
    assert [name for name, value in values if callable(value) and not inspect.getdoc(value)] == []
