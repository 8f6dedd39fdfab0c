"""The end of a session, which changes of the wall clock do not move."""

from __future__ import annotations

import pytest

from oncelog.broker.security.sasl_gate import Login, SaslGate
from oncelog.broker.security.sasl_mechanisms import Plain
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from oncelog.protocol.wire import Message
from tests.support.frames import encode_request
from tests.unit.broker.apis_admin.conftest import NOW_MS, Admin, RecordingChannel

LIFETIME_MS = 10_000


def frame(message: Message, version: int) -> memoryview:
    return memoryview(encode_request(message.API_KEY, version, 1, "c", message.encode(version)))[4:]


@pytest.mark.parametrize("step_ms", [0, 3_600_000, -3_600_000])
def test_a_session_lasts_as_long_as_it_was_to_whatever_the_wall_clock_does(step_ms: int) -> None:
    broker, channel = Admin().broker, RecordingChannel()
    gate = SaslGate(Login({"PLAIN": lambda: Plain({"alice": "secret"})}, {"PLAIN": LIFETIME_MS}, 1000, 0))
    assert not gate.has_been_open
    assert gate.takes(broker, channel, 0, frame(SaslHandshakeRequest("PLAIN"), 1), NOW_MS)
    assert gate.takes(broker, channel, 1, frame(SaslAuthenticateRequest(b"\0alice\0secret"), 2), NOW_MS)
    assert gate.has_been_open
    gate.clock_was_set(step_ms)
    begun_ms = NOW_MS + step_ms
    assert gate.lets_pass(begun_ms + LIFETIME_MS)
    assert not gate.lets_pass(begun_ms + LIFETIME_MS + 1)
    broker.stop(NOW_MS)
