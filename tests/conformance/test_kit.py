"""Every check of ``oncelog conformance``, on both brokers: what Apache Kafka does not pass is a wrong check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from oncelog.conformance.bench import Bench
from oncelog.conformance.raw.wire import Connection
from oncelog.conformance.registry import Check, all_checks, case_name, cases_of


@pytest.fixture
def bench(connection: Connection, unique_name: str) -> Iterator[Bench]:
    made = Bench(connection, unique_name)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("entry", "case"), [pytest.param(entry, case, id=case_name(entry, case)) for entry, case in cases_of(all_checks())]
)
def test_a_check_holds(bench: Bench, entry: Check, case: Mapping[str, Any]) -> None:
    entry.function(bench, **case)
