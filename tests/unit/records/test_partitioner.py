"""murmur2 against the values of Kafka's own tests."""

from __future__ import annotations

import pytest

from oncelog.records import _pure
from oncelog.records.native import murmur2
from oncelog.records.partitioner import partition_for_key

# From Kafka's UtilsTest and librdkafka's tests.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", KNOWN)
def test_murmur2_equals_javas_for_known_keys(key: bytes) -> None:
    assert murmur2(key) == KNOWN[key] & 0xFFFFFFFF
    assert _pure.murmur2(key) == KNOWN[key] & 0xFFFFFFFF


def test_the_partition_of_a_key_ignores_the_sign_bit_of_its_hash() -> None:
    for key, value in KNOWN.items():
        assert partition_for_key(key, 7) == (value & 0x7FFFFFFF) % 7
    assert {partition_for_key(b"%d" % i, 3) for i in range(50)} == {0, 1, 2}
