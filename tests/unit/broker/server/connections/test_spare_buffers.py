"""Buffers of large requests are reused, but never while something refers to what is in them."""

from __future__ import annotations

from oncelog.broker.server.connections.spare_buffers import LENT_BUFFERS, SPARE_BYTES, STEP_BYTES, SpareBuffers

SIZE = 4 * STEP_BYTES


def test_a_lent_buffer_is_reused_once_it_is_no_longer_referenced() -> None:
    spare, buffer = SpareBuffers(), bytearray(SIZE)
    buffer[-1] = 7
    view = memoryview(buffer)[10:20]
    spare.lend(buffer)
    assert spare.take(SIZE) is not buffer
    view.release()
    again = spare.take(SIZE)
    assert again is buffer
    assert (len(again), again[-1]) == (SIZE, 7)
    assert spare.take(SIZE) is not buffer


def test_a_returned_buffer_is_reused_at_once() -> None:
    spare, buffer = SpareBuffers(), bytearray(SIZE)
    spare.give(buffer)
    assert spare.take(SIZE) is buffer


def test_only_a_few_buffers_of_limited_size_are_kept() -> None:
    spare = SpareBuffers()
    buffers = [bytearray(SIZE) for _ in range(LENT_BUFFERS + 1)]
    for buffer in (*buffers, bytearray(SPARE_BYTES + 1)):
        spare.lend(buffer)
    found = [spare.take(SIZE) for _ in range(LENT_BUFFERS)]
    assert all(any(one is buffer for buffer in buffers[1:]) for one in found)
    assert not any(spare.take(SIZE) is buffer for buffer in buffers)
