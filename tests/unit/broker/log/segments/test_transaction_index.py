"""Looking up aborted transactions reads no more of the index than there is to find."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.log.segments.transaction_index import AbortedTxn, TransactionIndex


class Counted(list[AbortedTxn]):
    """Entries that count how often one is looked at."""

    looks = 0

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        self.looks += 1
        return super().__getitem__(index)


def aborted(number: int, *, open_below: bool) -> AbortedTxn:
    return AbortedTxn(number, 3 * number + 1, 3 * number + 2, 0 if open_below else 3 * number + 3)


@pytest.mark.parametrize("open_below", [False, True])
@pytest.mark.parametrize("decoded", [False, True])
def test_a_search_in_the_transaction_index_examines_only_a_few_of_many_entries(open_below: bool, decoded: bool) -> None:
    index = TransactionIndex()
    for number in range(100_000):
        index.append(aborted(number, open_below=open_below))
    if decoded:
        index = TransactionIndex.decode(0, index.encode())
    for offset in (0, 3, 150_000, 299_000):
        upper = offset + 30
        expected = [entry for entry in index.entries if entry.last_offset >= offset and entry.first_offset < upper]
        index.collect(offset, upper, [])  # sums up what is new, once
        index.entries = counted = Counted(index.entries)
        found: list[AbortedTxn] = []
        assert index.collect(offset, upper, found) is not open_below
        assert found == expected
        assert counted.looks <= 80


@st.composite
def entries(draw: st.DrawFn) -> list[AbortedTxn]:
    """Of an intact log or not: last stable offsets may go back."""
    found: list[AbortedTxn] = []
    marker = 0
    for number in range(draw(st.integers(0, 600))):
        marker += draw(st.integers(2, 5))
        first = draw(st.integers(0, marker - 1) if number % 50 == 0 else st.integers(max(marker - 6, 0), marker - 1))
        stable = 0 if draw(st.booleans()) else marker + 1
        found.append(AbortedTxn(number, first, marker, stable))
    return found


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_search_in_the_transaction_index_finds_what_a_full_scan_finds(data: st.DataObject) -> None:
    index = TransactionIndex()
    kept: list[AbortedTxn] = []
    for entry in data.draw(entries()):
        index.append(entry)
        kept.append(entry)
    end = kept[-1].last_offset + 3 if kept else 3
    for _ in range(data.draw(st.integers(1, 6))):
        offset = data.draw(st.integers(0, end))
        upper = offset + data.draw(st.integers(0, end))
        found: list[AbortedTxn] = []
        assert (index.collect(offset, upper, found), found) == naive(kept, offset, upper)
        if data.draw(st.booleans()):
            cut = data.draw(st.integers(0, end))
            index.truncate_to(cut)
            kept = [entry for entry in kept if entry.last_offset < cut]
            for number in range(data.draw(st.integers(0, 40))):
                entry = AbortedTxn(number, end + number * 2, end + number * 2 + 1, 0)
                index.append(entry)
                kept.append(entry)
            end += 80


def naive(kept: list[AbortedTxn], offset: int, upper: int) -> tuple[bool, list[AbortedTxn]]:
    found = []
    for entry in kept:
        if entry.last_offset >= offset:
            if entry.first_offset < upper:
                found.append(entry)
            if entry.last_stable_offset >= upper:
                return True, found
    return False, found
