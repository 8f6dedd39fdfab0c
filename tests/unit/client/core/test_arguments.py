"""What clients accept from programs: numbers of other libraries, lists of any kind; what they refuse, and with which
error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, get_args

import numpy as np
import pytest

from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.aiokafka.admin import NewTopic, RecordsToDelete
from oncelog.aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from oncelog.client import aio, blocking
from oncelog.client.aio.producer.sending_many import checked_rows
from oncelog.client.core import arguments
from oncelog.client.core.admin import admin_arguments, admin_types
from oncelog.client.core.batches.record_sizes import largest_size, owned_headers
from oncelog.client.core.client_errors import NumberOutOfRangeError, OncelogError
from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener, Reset, Subscription
from oncelog.client.core.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from oncelog.protocol.acls import AclFilter

HERE = TopicPartition("t", 0)


@pytest.mark.parametrize("number", [np.int64(0), np.int32(0), np.uint8(0)])
def test_a_partition_number_can_be_of_another_integer_type(number: Any) -> None:
    for found in (arguments.partition(TopicPartition("t", number)), arguments.partition(("t", number))):
        assert found == HERE
        assert type(found.partition) is int


@pytest.mark.parametrize("wrong", [TopicPartition("", 0), TopicPartition("\udcff", 0), TopicPartition("t", 1.0), "t0"])  # type: ignore[arg-type]
def test_an_invalid_partition_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        arguments.partition(wrong)


def test_a_number_out_of_range_is_an_error_of_the_client_and_a_value_error() -> None:
    for call in (lambda: arguments.whole(2**31, "partition", 32), lambda: arguments.partition(("t", 2**31))):
        with pytest.raises(NumberOutOfRangeError) as reported:
            call()
        assert isinstance(reported.value, OncelogError)
        assert isinstance(reported.value, ValueError)


def test_an_offset_may_be_committed_without_metadata() -> None:
    without: Any = OffsetAndMetadata(5, None)  # type: ignore[arg-type]
    assert arguments.offsets({HERE: without}) == {HERE: OffsetAndMetadata(5, "")}


def test_a_pattern_that_is_compiled_keeps_its_flags() -> None:
    subscription = Subscription(Reset.EARLIEST)
    subscription.subscribe((), re.compile("ORDERS", re.IGNORECASE), None)
    assert subscription.pattern is not None
    assert subscription.pattern.match("orders")
    of_bytes: Any = re.compile(b"orders")
    with pytest.raises(TypeError, match="pattern must be str"):
        subscription.subscribe((), of_bytes, None)


@pytest.mark.parametrize("headers", [(pair for pair in [("a", b"1")]), zip("a", [b"1"], strict=True), map(str, "a")])
def test_headers_given_as_an_iterator_are_refused(headers: Any) -> None:
    with pytest.raises(TypeError, match=r"headers must be a list of \(name, bytes\), not"):
        largest_size(None, b"", headers)
    with pytest.raises(TypeError, match=r"headers must be a list of \(name, bytes\), not"):
        checked_rows([b"a"], None, 0, [headers])


@pytest.mark.parametrize("wrong", [5, ("a",), ("a", b"1", 2), None])
def test_the_error_names_an_invalid_header(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"not one with {re.escape(repr(wrong))} in it"):
        largest_size(None, b"", [("good", b""), wrong])


def test_a_header_given_as_an_iterator_is_refused() -> None:
    once: Any = iter(("a", b"1"))
    with pytest.raises(TypeError, match=r"headers must be a list of \(name, bytes\), not one with <tuple_iterator"):
        largest_size(None, b"", [once])


def test_the_error_of_a_custom_header_collection_is_raised_unchanged() -> None:
    class Failing(list[tuple[str, bytes]]):
        def __iter__(self) -> Iterator[tuple[str, bytes]]:
            yield "a", b"1"
            raise ValueError("the program's own")

    with pytest.raises(ValueError, match="the program's own"):
        largest_size(None, b"", Failing([("a", b"1")]))


def test_a_memoryview_counts_by_its_bytes_and_not_by_its_elements() -> None:
    view: Any = memoryview(bytes(800)).cast("q")
    empty = largest_size(b"", b"", [("a", b"")])
    assert len(view) == 100
    assert largest_size(view, b"", [("a", b"")]) == empty + 800
    assert largest_size(b"", view, [("a", b"")]) == empty + 800
    assert largest_size(b"", b"", [("a", view)]) == empty + 800


def test_copied_headers_do_not_change_when_the_program_changes_the_originals() -> None:
    content: Any = bytearray(b"1")
    given: list[tuple[str, bytes | None]] = [("a", b""), ("b", None)]
    given.append(("c", content))
    kept = owned_headers(given)
    content[:] = b"2"
    given.clear()
    assert kept == (("a", b""), ("b", None), ("c", b"1"))


def test_columns_of_records_may_be_arrays() -> None:
    column: Any = np.array([b"k1", b"k2"], object)
    headers: Any = np.array([None, None], object)
    rows = checked_rows(column, column, 1, headers)
    assert (rows.values, rows.keys, rows.headers) == ([b"k1", b"k2"], [b"k1", b"k2"], [None, None])


def test_an_iterator_becomes_a_list_and_other_arguments_stay_unchanged() -> None:
    given = [HERE]
    assert arguments.walked(given) is given
    assert arguments.walked("text") == "text"
    assert arguments.walked(None) is None
    assert arguments.walked(iter(given)) == given


@pytest.mark.parametrize(
    "generic",
    [
        aio.Consumer,
        aio.Producer,
        aio.ConsumerRecord,
        blocking.Consumer,
        blocking.Producer,
        AIOKafkaConsumer,
        AIOKafkaProducer,
    ],
)
def test_a_client_class_can_be_subscripted_with_fewer_type_arguments(generic: Any) -> None:
    """Annotations may contain such types and be evaluated at run time."""
    assert get_args(generic[str]) == (str, bytes)
    assert get_args(generic[str, int]) == (str, int)
    with pytest.raises(TypeError, match="Too many"):
        generic[str, int, float]


def test_a_subclass_of_a_client_has_its_own_type_arguments() -> None:
    mine = TypeVar("mine")

    class Values(aio.Consumer[bytes, mine]):
        pass

    class Texts(aio.Consumer[str]):
        pass

    assert get_args(Values[int]) == (int,)
    with pytest.raises(TypeError, match="not a generic class"):
        Texts[int]  # type: ignore[misc]


def of_another_module(kind: type) -> Any:
    """An object whose class has the name of ``kind`` but is of another client."""
    return type(kind.__name__, (), {"__module__": "elsewhere.inside"})()


MIXED_UP: list[tuple[Callable[[Any], object], Any, str]] = [
    (
        lambda given: arguments.listed([given], admin_types.NewTopic),
        NewTopic("t", 1, 1),
        "a list of oncelog.NewTopic is needed, not one with oncelog.aiokafka.admin.NewTopic in it",
    ),
    (
        lambda given: arguments.listed([given], NewTopic),
        admin_types.NewTopic("t"),
        "a list of oncelog.aiokafka.admin.NewTopic is needed, not one with oncelog.NewTopic in it",
    ),
    (
        lambda given: arguments.listed(given, admin_types.NewTopic),
        NewTopic("t", 1, 1),
        "a list of oncelog.NewTopic is needed, not oncelog.aiokafka.admin.NewTopic",
    ),
    (
        lambda given: arguments.listed([given], RecordsToDelete),
        admin_types.RecordsToDelete(1),
        "a list of oncelog.aiokafka.admin.RecordsToDelete is needed, "
        "not one with oncelog.client.core.admin.admin_types.RecordsToDelete in it",
    ),
    (
        admin_arguments.resources,
        [ConfigResource(ConfigResourceType.TOPIC, "t")],
        "a list of oncelog.client.core.admin.admin_types.ConfigResource is needed, "
        "not one with oncelog.aiokafka.admin.config_resource.ConfigResource in it",
    ),
    (
        admin_arguments.acl_filter,
        of_another_module(AclFilter),
        "one filter of the class oncelog.protocol.acls.AclFilter is needed, not elsewhere.inside.AclFilter",
    ),
    (
        arguments.partition,
        of_another_module(TopicPartition),
        "a partition is given as oncelog.TopicPartition(topic, number), not elsewhere.inside.TopicPartition",
    ),
    (
        arguments.partitions,
        [of_another_module(TopicPartition)],
        "a partition is given as oncelog.TopicPartition(topic, number), not elsewhere.inside.TopicPartition",
    ),
    (
        arguments.group,
        of_another_module(ConsumerGroupMetadata),
        "group_id must be str or oncelog.client.aio.ConsumerGroupMetadata, as consumer.group_metadata() gives it, "
        "not elsewhere.inside.ConsumerGroupMetadata",
    ),
    (
        lambda given: Subscription(Reset.EARLIEST).subscribe(["t"], None, given),
        type("Mine", (type(of_another_module(ConsumerRebalanceListener)),), {})(),
        "the listener must be derived from oncelog.client.aio.ConsumerRebalanceListener, "
        "not elsewhere.inside.ConsumerRebalanceListener",
    ),
    (
        lambda given: ConfigResource(given, "t"),
        admin_types.ConfigResourceType.TOPIC,
        "'the type of a ConfigResource is oncelog.aiokafka.admin.config_resource.ConfigResourceType.TOPIC or "
        "oncelog.aiokafka.admin.config_resource.ConfigResourceType.BROKER, "
        "not oncelog.client.core.admin.admin_types.ConfigResourceType'",
    ),
]


@pytest.mark.parametrize(("call", "given", "message"), MIXED_UP)
def test_two_classes_with_one_name_are_distinguished_by_their_modules(
    call: Callable[[Any], object], given: Any, message: str
) -> None:
    with pytest.raises((TypeError, KeyError)) as reported:
        call(given)
    assert str(reported.value) == message


def test_names_without_a_public_type_are_shown_unchanged() -> None:
    for given, message in (
        ([5], "a list of NewTopic is needed, not one with 5 in it"),
        ("ab", "a list of NewTopic is needed, not 'ab'"),
    ):
        wrong: Any = given
        with pytest.raises(TypeError) as reported:
            arguments.listed(wrong, admin_types.NewTopic)
        assert str(reported.value) == message
    wrong_number: Any = TopicPartition("t", 1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"given as TopicPartition\(topic, number\), not TopicPartition\(topic='t'"):
        arguments.partition(wrong_number)
