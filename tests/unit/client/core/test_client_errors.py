"""The client's exceptions: their texts, their codes, and what a process passes on to another."""

from __future__ import annotations

import pickle

import pytest

from oncelog.client.core import client_errors as errors
from oncelog.client.core.response_errors import BrokerResponseError, NotCoordinatorForGroupError
from oncelog.errors import Error, KafkaError


def test_an_exception_has_its_own_error_code_and_its_class_the_default_code() -> None:
    refused = BrokerResponseError(Error.THROTTLING_QUOTA_EXCEEDED, "later")
    assert (refused.errno, refused.message, refused.retriable) == (89, "THROTTLING_QUOTA_EXCEEDED", True)
    assert NotCoordinatorForGroupError.errno == Error.NOT_COORDINATOR
    assert NotCoordinatorForGroupError.retriable
    assert not NotCoordinatorForGroupError(Error.INVALID_REQUEST, "wrong").retriable
    assert "not the coordinator" in NotCoordinatorForGroupError.description


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KafkaError(Error.NOT_CONTROLLER, "elsewhere"), "elsewhere [NOT_CONTROLLER]"),
        (KafkaError(Error.NOT_CONTROLLER), "NOT_CONTROLLER"),
        (errors.error_for(Error.NOT_COORDINATOR, ""), "NOT_COORDINATOR"),
        (errors.KafkaTimeoutError("late"), "late [REQUEST_TIMED_OUT]"),
        (errors.KafkaTimeoutError(), "KafkaTimeoutError"),
        (errors.IllegalStateError("call start() first"), "call start() first"),
        (errors.LogTruncationError("t-0", 5, None), None),
    ],
)
def test_an_exception_that_is_pickled_keeps_its_text_and_code(error: KafkaError, text: str | None) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.error) == (str(error), error.error)
    if text is not None:
        assert str(error) == text
