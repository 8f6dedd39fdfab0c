"""The registry of messages, and what importing the protocol costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import API_VERSIONS, has_messages, request_type, response_type
from tests.unit.protocol.message_values import MESSAGES


@pytest.mark.parametrize("key", sorted(API_VERSIONS))
def test_the_message_registry_finds_request_and_response_of_a_key(key: int) -> None:
    request, response = request_type(key), response_type(key)
    assert (key, key) == (request.API_KEY, response.API_KEY)
    assert (request.__name__[-7:], response.__name__[-8:]) == ("Request", "Response")
    assert request.__name__[:-7] == response.__name__[:-8]
    assert (request.MIN_VERSION, request.MAX_VERSION) == (response.MIN_VERSION, response.MAX_VERSION)
    assert API_VERSIONS[key][:3] == (request.MIN_VERSION, request.MAX_VERSION, request.FLEXIBLE_FROM)


def test_the_message_registry_contains_every_request_of_the_tables() -> None:
    assert set(API_VERSIONS) == {item.key for item in MESSAGES.values() if item.kind == "request"}


def test_an_api_key_without_messages_raises_a_key_error() -> None:
    assert not has_messages(ApiKey.VOTE)
    assert not has_messages(7)
    for key in (ApiKey.VOTE, 7, 1000):
        with pytest.raises(KeyError, match="no messages for API key"):
            request_type(key)


def test_unstable_versions_are_encodable_but_not_the_highest_stable_version() -> None:
    assert request_type(ApiKey.INIT_PRODUCER_ID).MAX_VERSION == 6
    assert request_type(ApiKey.INIT_PRODUCER_ID).LATEST_VERSION_UNSTABLE
    assert API_VERSIONS[ApiKey.INIT_PRODUCER_ID].highest_stable == 5


def test_loading_one_message_type_imports_no_other_message() -> None:
    program = (
        "import sys; from oncelog.protocol.messages import request_type; import oncelog.protocol.framing;"
        "request_type(3); print(*(name for name in sys.modules if name.startswith('oncelog.protocol.generated.')))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["oncelog.protocol.generated.metadata_request"]
