"""Every text of every request as long as its field allows: an answer that repeats it may not fit into its own field.

Such a request is answered or ends its own connection, the log shows no unforeseen failure, and other connections are
served in any case. The fields come from the schema, so that a new API is included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import request_type
from tests.hostile.fuzz.targets.wire import REQUESTS, Harness, likely
from tests.support.frames import encode_request
from tests.unit.protocol.message_values import MESSAGES, RandomSource, make_message
from tools.codec.schema import Field, StructDef

LONGEST = "n" * 32_767


class OneOfEach(RandomSource):
    """Arrays of one element, no nulls, every tagged field present."""

    def integer(self, low: int, high: int) -> int:
        return 0 if (low, high) == (0, 1) else 1


def texts(struct: StructDef, version: int) -> Iterator[str]:
    """Names of the fields that hold text."""
    for item in struct.fields:
        if version in item.versions and item.struct:
            yield from texts(item.struct, version)
        elif version in item.versions and item.type == "string":
            yield item.name


def frame(api_key: int, version: int, long: list[str]) -> bytes:
    def value(source: Any, item: Field) -> Any:
        if item.type == "string":
            return LONGEST if item.name in long else "orders"
        return likely(source, item)

    made = make_message(request_type(api_key).__name__, version, OneOfEach(f"{api_key}"), value)
    return bytes(encode_request(api_key, version, 1, "test", made.encode(version)))


def frames(api_key: int, version: int) -> Iterator[bytes]:
    """All texts long at once, and each one alone."""
    found = sorted(set(texts(MESSAGES[request_type(api_key).__name__].root, version)))
    for long in ([found] if len(found) > 1 else []) + [[name] for name in found]:
        yield frame(api_key, version, long)


VERSIONS: dict[int, list[int]] = {}
for _key, _version in REQUESTS:
    VERSIONS.setdefault(_key, []).append(_version)
WITH_TEXT = [key for key, versions in VERSIONS.items() if any(frames(key, max(versions)))]


@pytest.fixture(scope="module")
def harness() -> Iterator[Harness]:
    made = Harness()
    yield made
    made.end()


@pytest.mark.parametrize("api_key", WITH_TEXT, ids=[ApiKey(key).name for key in WITH_TEXT])
def test_requests_with_the_longest_strings_are_answered_or_end_only_their_own_connection(
    harness: Harness, api_key: int
) -> None:
    for version in {min(VERSIONS[api_key]), max(VERSIONS[api_key])}:
        for asked in frames(api_key, version):
            harness.feed(asked)
