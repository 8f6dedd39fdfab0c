"""A full disk: requests that need space are told to retry, nobody else notices."""

from __future__ import annotations

import pytest

from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from tests.unit.broker.core.conftest import NOW_MS, Admin


def test_a_lack_of_producer_ids_on_a_full_disk_is_a_retriable_error(monkeypatch: pytest.MonkeyPatch) -> None:
    admin = Admin()

    def full() -> range:
        raise StorageError("cannot write the metadata file: database or disk is full")

    with monkeypatch.context() as scarce:
        scarce.setattr(admin.broker.metadata.producer_ids, "allocate_block", full)
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
        assert admin.ask(request, 4).error_code == Error.COORDINATOR_LOAD_IN_PROGRESS
    assert admin.ask(request, 4).error_code == Error.NONE
    admin.broker.stop(NOW_MS)


def test_the_reason_why_an_internal_topic_cannot_be_created_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A consumer asks for its coordinator every second: the log would fill the disk that is full."""
    admin = Admin()
    reasons = iter(["database or disk is full", "database or disk is full", "disk I/O error"])

    def full(*_: object, **__: object) -> None:
        raise StorageError(next(reasons))

    with monkeypatch.context() as scarce:
        scarce.setattr(admin.broker.metadata, "create_topic", full)
        for _ in range(3):
            request = FindCoordinatorRequest(key="g", key_type=0)
            assert admin.ask(request, 3).error_code == Error.COORDINATOR_NOT_AVAILABLE
    reported = [record.getMessage() for record in caplog.records if "could not be created" in record.getMessage()]
    assert [text.rpartition(": ")[2] for text in reported] == ["database or disk is full", "disk I/O error"]
    admin.broker.stop(NOW_MS)
