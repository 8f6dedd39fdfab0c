"""Every check of ``oncelog conformance``, on both brokers: what Apache Kafka does not pass is a wrong check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from oncelog.apps.conformance.fixture import Fixture
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.conformance.registry import Check, all_checks, case_name, cases_of


@pytest.fixture
def fixture(connection: RawConnection, unique_name: str) -> Iterator[Fixture]:
    made = Fixture(connection, unique_name)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("entry", "case"), [pytest.param(entry, case, id=case_name(entry, case)) for entry, case in cases_of(all_checks())]
)
def test_a_check_passes_on_our_broker_and_on_apache_kafka(
    fixture: Fixture, entry: Check, case: Mapping[str, Any]
) -> None:
    entry.function(fixture, **case)
