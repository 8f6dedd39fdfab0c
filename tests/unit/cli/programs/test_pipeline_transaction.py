"""What ``oncelog pipeline doctor`` says about the transaction of a query."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.cli.doctor.pipeline_doctor import _transaction
from oncelog.client.core.client_errors import error_for
from oncelog.errors import Error


@pytest.mark.parametrize(
    ("refusal", "reported"),
    [
        (Error.TRANSACTIONAL_ID_NOT_FOUND, "none known"),
        (Error.UNSUPPORTED_VERSION, "not shown by this cluster (the next start aborts an open one)"),  # before 3.0
    ],
)
def test_a_transaction_that_cannot_be_described_does_not_end_the_diagnosis(refusal: Error, reported: str) -> None:
    class Refusing:
        def describe_transactions(self, names: list[str]) -> list[Any]:
            raise error_for(refusal, "refused")

    admin: Any = Refusing()
    assert _transaction(admin, "query") == reported
