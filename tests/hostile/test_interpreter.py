"""While a batch of very many records is checked, other threads run, and the loop's thread is one of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from oncelog.apps.conformance.raw.batches import record
from oncelog.records.native import compiled, walk

RECORDS = 1_000_000
MAX_LOOKS = 200


@pytest.fixture
def nobody_is_made_to_give_way() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("nobody_is_made_to_give_way")
@pytest.mark.skipif(compiled is None, reason="in Python every thread gives way by itself")
def test_checking_a_batch_of_many_records_releases_the_gil() -> None:
    area = record(None) * RECORDS
    went_on = threading.Event()
    looks: list[bool] = []

    def look() -> None:
        while not looks or not (looks[-1] or len(looks) == MAX_LOOKS):
            walk(area, RECORDS, 0, False, -(2**63), 2**63 - 1)
            looks.append(went_on.is_set())

    looking = threading.Thread(target=look)
    looking.start()
    went_on.set()  # which this thread comes to only when the other one lets it
    looking.join()
    assert looks[-1]
