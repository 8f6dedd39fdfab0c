"""``mock.patch.dict(sys.modules)`` and pyfakefs take modules that were imported meanwhile out of ``sys.modules``."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import get_type_hints

import pytest

from oncelog.runtime import LoadedModules

PACKAGE = "oncelog.broker.core.apis.groups"
MODULE = f"{PACKAGE}.delete_groups"


def found(name: str, **arguments: object) -> ModuleSpec | None:
    return LoadedModules.find_spec(name, None, **arguments)  # type: ignore[arg-type]


def test_a_module_that_left_sys_modules_is_not_executed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    module, package = import_module(MODULE), import_module(PACKAGE)
    spec = module.__spec__
    monkeypatch.delitem(sys.modules, MODULE)
    monkeypatch.delitem(sys.modules, PACKAGE)
    assert import_module(MODULE) is module
    assert import_module(PACKAGE) is package
    assert module.__spec__ is spec


def test_a_module_is_reloaded_if_its_user_asks_for_it() -> None:
    module = import_module(MODULE)
    assert found(MODULE) is not None
    assert found(MODULE, target=module) is None


@pytest.mark.parametrize("name", ["oncelog", "json.decoder", "oncelog.missing", "oncelog.broker.missing"])
def test_the_module_finder_leaves_modules_that_the_package_has_not_loaded_to_other_finders(name: str) -> None:
    assert found(name) is None


def test_a_function_with_the_name_of_a_module_is_not_mistaken_for_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module(PACKAGE), "delete_groups", print)
    assert found(MODULE) is None


def test_annotations_of_the_module_finder_are_resolved_without_an_import() -> None:
    """beartype's hook resolves them in each import, and an import in there would not end (RecursionError)."""
    hints = get_type_hints(LoadedModules.find_spec)
    assert hints == {"fullname": str, "path": object, "target": ModuleType | None, "return": ModuleSpec | None}
    assert get_type_hints(LoadedModules.create_module) == {"spec": ModuleSpec, "return": ModuleType}
