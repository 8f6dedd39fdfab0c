"""What clients accept from programs: numbers of other libraries, lists of any kind; what they refuse, and with which
error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeVar, get_args

import numpy as np
import pytest

from oncelog.aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from oncelog.client import aio, blocking
from oncelog.client.aio.sending_many import checked_rows
from oncelog.client.core import arguments
from oncelog.client.core.accumulator import largest_size, owned_headers
from oncelog.client.core.errors import NumberOutOfRangeError, OncelogError
from oncelog.client.core.structs import OffsetAndMetadata, TopicPartition
from oncelog.client.core.subscription import Reset, Subscription

HERE = TopicPartition("t", 0)


@pytest.mark.parametrize("number", [np.int64(0), np.int32(0), np.uint8(0)])
def test_the_number_of_a_partition_may_be_of_another_library(number: Any) -> None:
    for found in (arguments.partition(TopicPartition("t", number)), arguments.partition(("t", number))):
        assert found == HERE
        assert type(found.partition) is int


@pytest.mark.parametrize("wrong", [TopicPartition("", 0), TopicPartition("\udcff", 0), TopicPartition("t", 1.0), "t0"])  # type: ignore[arg-type]
def test_what_is_no_partition_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        arguments.partition(wrong)


def test_a_number_out_of_range_is_an_error_of_the_client_and_a_value_error() -> None:
    for call in (lambda: arguments.whole(2**31, "partition", 32), lambda: arguments.partition(("t", 2**31))):
        with pytest.raises(NumberOutOfRangeError) as told:
            call()
        assert isinstance(told.value, OncelogError)
        assert isinstance(told.value, ValueError)


def test_a_position_needs_no_text() -> None:
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
def test_headers_that_can_be_walked_only_once_are_refused(headers: Any) -> None:
    with pytest.raises(TypeError, match=r"headers must be a list of \(name, bytes\), not"):
        largest_size(None, b"", headers)
    with pytest.raises(TypeError, match=r"headers must be a list of \(name, bytes\), not"):
        checked_rows([b"a"], None, 0, [headers])


@pytest.mark.parametrize("wrong", [5, ("a",), ("a", b"1", 2), None])
def test_what_is_no_header_is_named(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"not one with {re.escape(repr(wrong))} in it"):
        largest_size(None, b"", [("good", b""), wrong])


def test_a_header_that_can_be_walked_only_once_is_refused() -> None:
    once: Any = iter(("a", b"1"))
    with pytest.raises(TypeError, match=r"headers must be a list of \(name, bytes\), not one with <tuple_iterator"):
        largest_size(None, b"", [once])


def test_a_collection_of_headers_that_fails_tells_its_own_error() -> None:
    class Failing(list[tuple[str, bytes]]):
        def __iter__(self) -> Iterator[tuple[str, bytes]]:
            yield "a", b"1"
            raise ValueError("the program's own")

    with pytest.raises(ValueError, match="the program's own"):
        largest_size(None, b"", Failing([("a", b"1")]))


def test_a_view_is_as_large_as_its_bytes_not_its_elements() -> None:
    view: Any = memoryview(bytes(800)).cast("q")
    empty = largest_size(b"", b"", [("a", b"")])
    assert len(view) == 100
    assert largest_size(view, b"", [("a", b"")]) == empty + 800
    assert largest_size(b"", view, [("a", b"")]) == empty + 800
    assert largest_size(b"", b"", [("a", view)]) == empty + 800


def test_headers_that_are_kept_do_not_change_with_the_program() -> None:
    content, given = bytearray(b"1"), [("a", b""), ("b", None)]
    given.append(("c", content))
    kept = owned_headers(given)
    content[:] = b"2"
    given.clear()
    assert kept == (("a", b""), ("b", None), ("c", b"1"))


def test_columns_may_be_arrays() -> None:
    column: Any = np.array([b"k1", b"k2"], object)
    rows = checked_rows(column, column, 1, np.array([None, None], object))
    assert (rows.values, rows.keys, rows.headers) == ([b"k1", b"k2"], [b"k1", b"k2"], [None, None])


def test_only_what_makes_its_items_while_it_is_walked_is_walked_at_once() -> None:
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
def test_a_class_takes_fewer_types_than_it_has(generic: Any) -> None:
    """Annotations may contain such types and be evaluated at run time."""
    assert get_args(generic[str]) == (str, bytes)
    assert get_args(generic[str, int]) == (str, int)
    with pytest.raises(TypeError, match="Too many"):
        generic[str, int, float]


def test_a_class_that_a_program_makes_of_one_takes_its_own_types() -> None:
    mine = TypeVar("mine")

    class Values(aio.Consumer[bytes, mine]):
        pass

    class Texts(aio.Consumer[str]):
        pass

    assert get_args(Values[int]) == (int,)
    with pytest.raises(TypeError, match="not a generic class"):
        Texts[int]  # type: ignore[misc]
