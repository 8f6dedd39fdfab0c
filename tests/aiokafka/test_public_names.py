"""``oncelog.aiokafka`` has the names and shapes of aiokafka 0.14: walked on aiokafka itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

import aiokafka
import aiokafka.errors
import pytest

import oncelog.aiokafka
import oncelog.aiokafka.errors
from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.aiokafka.admin import AIOKafkaAdminClient
from oncelog.errors import Error, KafkaError

MODULES = [
    "aiokafka",
    "aiokafka.abc",
    "aiokafka.admin",
    "aiokafka.admin.config_resource",
    "aiokafka.admin.new_partitions",
    "aiokafka.admin.new_topic",
    "aiokafka.admin.records_to_delete",
    "aiokafka.consumer",
    "aiokafka.coordinator.assignors.range",
    "aiokafka.coordinator.assignors.roundrobin",
    "aiokafka.coordinator.assignors.sticky.sticky_assignor",
    "aiokafka.errors",
    "aiokafka.helpers",
    "aiokafka.producer",
    "aiokafka.structs",
]


def public_names(module: Any) -> set[str]:
    """The names that a module declares in ``__all__`` or, without one, defines itself."""
    if module.__name__ == "aiokafka.errors":  # __all__ leaves out half of the documented names
        return {
            name
            for name, value in vars(module).items()
            if inspect.isclass(value) and issubclass(value, BaseException) and not name.startswith("_")
        }
    if ".assignors." in module.__name__:  # what is beside the assignor itself serves only it
        return {name for name in vars(module) if name.endswith("PartitionAssignor") and name[0] != "_"} - {
            "AbstractPartitionAssignor"
        }
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return set(declared)
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    }


def test_it_is_aiokafka_0_14() -> None:
    assert aiokafka.__version__.startswith("0.14.")


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_here(name: str) -> None:
    theirs = importlib.import_module(name)
    ours = importlib.import_module(f"oncelog.{name}")
    missing = {public for public in public_names(theirs) if not hasattr(ours, public)}
    assert not missing


def test_every_module_with_documented_names_is_walked() -> None:
    public = {"abc", "admin", "consumer", "errors", "helpers", "producer", "structs"}
    there = {module.name for module in pkgutil.iter_modules(aiokafka.__path__)}
    assert public <= there
    assert public <= {name.split(".")[1] for name in MODULES if "." in name}


def _classes() -> list[tuple[str, type[BaseException], type[BaseException]]]:
    return [
        (name, getattr(aiokafka.errors, name), getattr(oncelog.aiokafka.errors, name))
        for name in sorted(public_names(aiokafka.errors))
    ]


def test_all_errors_are_exceptions_with_their_parents() -> None:
    """Code that catches a parent class in aiokafka must catch the same children here."""
    found = _classes()
    assert len(found) >= 106
    by_name = {name: ours for name, _, ours in found}
    for name, theirs, ours in found:
        for parent in theirs.__mro__[1:]:
            if parent.__name__ in by_name:
                assert issubclass(ours, by_name[parent.__name__]), (name, parent)
            elif parent in (RuntimeError, Exception):
                assert issubclass(ours, parent), name


def test_errors_have_their_codes_and_may_be_made_with_a_text() -> None:
    for name, theirs, ours in _classes():
        made = ours("a text")
        assert "a text" in str(made)
        ours()
        code = getattr(theirs, "errno", None)
        if code is not None:
            assert isinstance(made, KafkaError)
            assert (name, made.error) == (name, Error(code))
            assert getattr(made, "errno", None) == code


def test_the_class_for_a_code_is_found() -> None:
    for name, theirs, ours in _classes():
        code = getattr(theirs, "errno", None)
        if code not in (None, 13):
            assert issubclass(oncelog.aiokafka.errors.for_code(code), ours), name
    assert oncelog.aiokafka.errors.for_code(9999) is oncelog.aiokafka.errors.BrokerResponseError


PAIRS = [
    (aiokafka.AIOKafkaProducer, AIOKafkaProducer),
    (aiokafka.AIOKafkaConsumer, AIOKafkaConsumer),
    (importlib.import_module("aiokafka.admin").AIOKafkaAdminClient, AIOKafkaAdminClient),
]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS, ids=lambda cls: cls.__name__)
def test_methods_take_the_same_arguments(theirs: type, ours: type) -> None:
    for name, method in inspect.getmembers(theirs, inspect.isfunction):
        if name.startswith("_") and name != "__init__":
            continue
        mine = getattr(ours, name)
        assert inspect.iscoroutinefunction(mine) == inspect.iscoroutinefunction(method), name
        given = inspect.signature(mine).parameters
        for parameter in inspect.signature(method).parameters.values():
            assert parameter.name in given, (name, parameter.name)
            assert given[parameter.name].kind == parameter.kind, (name, parameter.name)
        asked = [p for p in given.values() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
        assert {p.name for p in asked} <= set(inspect.signature(method).parameters), name


@pytest.mark.parametrize(("theirs", "ours"), PAIRS, ids=lambda cls: cls.__name__)
def test_settings_have_the_same_defaults(theirs: type, ours: type) -> None:
    """Defaults that are plain values; not the client's name or aiokafka's own classes."""
    mine = inspect.signature(ours).parameters
    for name, parameter in inspect.signature(theirs).parameters.items():
        if isinstance(parameter.default, (int, str, type(None))) and name != "client_id":
            assert mine[name].default == parameter.default, name


@pytest.mark.parametrize(
    "name", ["TopicPartition", "OffsetAndMetadata", "OffsetAndTimestamp", "RecordMetadata", "BrokerMetadata",
             "PartitionMetadata", "ConsumerRecord"],
)  # fmt: skip
def test_structs_have_the_same_fields_in_order(name: str) -> None:
    theirs, ours = getattr(aiokafka.structs, name), getattr(oncelog.aiokafka.structs, name)
    fields = getattr(theirs, "_fields", None) or tuple(theirs.__dataclass_fields__)
    assert ours._fields[: len(fields)] == fields
