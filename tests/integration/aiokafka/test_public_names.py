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


def test_the_compared_aiokafka_is_0_14() -> None:
    assert aiokafka.__version__.startswith("0.14.")


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_of_aiokafka_exists(name: str) -> None:
    theirs = importlib.import_module(name)
    ours = importlib.import_module(f"oncelog.{name}")
    missing = {public for public in public_names(theirs) if not hasattr(ours, public)}
    assert not missing


def test_every_module_with_documented_names_is_compared() -> None:
    public = {"abc", "admin", "consumer", "errors", "helpers", "producer", "structs"}
    there = {module.name for module in pkgutil.iter_modules(aiokafka.__path__)}
    assert public <= there
    assert public <= {name.split(".")[1] for name in MODULES if "." in name}


def _classes() -> list[tuple[str, type[BaseException], type[BaseException]]]:
    return [
        (name, getattr(aiokafka.errors, name), getattr(oncelog.aiokafka.errors, name))
        for name in sorted(public_names(aiokafka.errors))
    ]


KINDS_HERE_ONLY = {
    ("IllegalOperation", "IllegalStateError"),  # one class with two names; also a KafkaError
    ("IllegalStateError", "IllegalOperation"),
    ("IllegalOperation", "KafkaError"),
    ("ProducerClosed", "IllegalStateError"),
    ("ProducerClosed", "IllegalOperation"),
    ("MessageSizeTooLargeError", "RecordTooLargeError"),  # one class with two names
    ("RecordTooLargeError", "MessageSizeTooLargeError"),
    ("RecordTooLargeError", "BrokerResponseError"),
    ("RequestTimedOutError", "KafkaTimeoutError"),
}
"""Classes that are also of a kind that they are not in aiokafka. None lacks one."""

BY_CODE = {
    *(
        ("KafkaTimeoutError", "retriable"),
        ("CorruptRecordException", "retriable"),
        ("InvalidMessageError", "retriable"),
    ),
    *(("ReplicaNotAvailableError", name) for name in ("retriable", "invalid_metadata")),
    *(("ListenerNotFound", name) for name in ("retriable", "invalid_metadata")),
    *(("ConcurrentTransactions", "retriable"), ("FetchSessionIdNotFound", "retriable")),
    ("InvalidFetchSessionEpoch", "retriable"),
}
"""What is False in aiokafka and of an exception here True, for Kafka's own table says so of its code."""


def test_all_errors_are_exceptions_with_aiokafkas_base_classes() -> None:
    """Code that catches a parent class in aiokafka must catch the same children here."""
    found = _classes()
    assert len(found) >= 106
    differing = {
        (name, parent)
        for name, theirs, ours in found
        for parent, their_parent, our_parent in found
        if issubclass(theirs, their_parent) != issubclass(ours, our_parent)
    }
    assert differing == KINDS_HERE_ONLY
    for name, theirs, ours in found:
        for builtin in (RuntimeError, ValueError, TimeoutError, ConnectionError):
            assert issubclass(theirs, builtin) <= issubclass(ours, builtin), name
    assert not issubclass(oncelog.aiokafka.errors.IllegalArgumentError, ValueError)


@pytest.mark.parametrize("attribute", ["errno", "message", "retriable", "invalid_metadata"])
def test_errors_have_their_attributes_on_the_class_and_on_the_exception(attribute: str) -> None:
    compared = 0
    for name, theirs, ours in _classes():
        if hasattr(theirs, attribute):
            expected = getattr(theirs, attribute)
            assert (name, getattr(ours, attribute)) == (name, expected)
            of_code = True if (name, attribute) in BY_CODE else expected
            assert (name, getattr(ours("a text"), attribute)) == (name, of_code)
            compared += 1
    assert compared >= 77


def test_every_broker_error_has_a_description() -> None:
    """In words of our own."""
    for name, theirs, ours in _classes():
        if getattr(theirs, "description", ""):
            assert isinstance(ours.description, str) and ours.description, name  # type: ignore[attr-defined]


def test_errors_accept_and_keep_any_arguments() -> None:
    """CommitFailedError and ProducerFenced have texts of their own in aiokafka, in front or instead of none."""
    for name, theirs, ours in _classes():
        for given in ([], ["a text"], ["a text", 5]):
            if given and name != "ProducerFenced":  # there it takes one argument
                assert list(theirs(*given).args[-len(given) :]) == given
            assert (name, list(ours(*given).args)) == (name, given)
        assert "a text" in str(ours("a text"))


UNLIKE_WITHOUT_TEXT = {
    *("ProducerFenced", "CommitFailedError"),  # have a text in aiokafka
    *("MessageSizeTooLargeError", "IllegalOperation"),  # are called by the other name of their class
    "BrokerResponseError",  # cannot be shown there
}


def test_an_error_without_a_text_shows_the_name_of_its_class() -> None:
    for name, theirs, ours in _classes():
        assert (name, str(ours())) == (name, ours.__name__ if issubclass(ours, KafkaError) else "")
        if name not in UNLIKE_WITHOUT_TEXT:
            assert str(theirs()).endswith(str(ours())), name  # a broker's has "[Error 3] " in front


def test_for_code_returns_the_class_that_aiokafka_returns() -> None:
    for code in range(-2, 200):
        theirs = aiokafka.errors.for_code(code).__name__
        theirs = "FencedInstanceIdError" if code == Error.FENCED_INSTANCE_ID else theirs  # aiokafka has none
        assert oncelog.aiokafka.errors.for_code(code) is getattr(oncelog.aiokafka.errors, theirs), code
    assert oncelog.aiokafka.errors.for_code(9999) is oncelog.aiokafka.errors.UnknownError


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
