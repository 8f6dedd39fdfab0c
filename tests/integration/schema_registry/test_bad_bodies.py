"""Clients that do not send what they have announced."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from oncelog.schema_registry import routes
from tests.integration.schema_registry.http_calls import register


def test_a_body_that_never_arrives_is_refused_and_ends_its_connection(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "BODY_SECONDS", 0.2)
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=120) as slow:
        head = "POST /subjects/x/versions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        slow.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        answer = b""
        while part := slow.recv(4096):
            answer += part
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"error_code":408' in answer
    monkeypatch.setattr(routes, "BODY_SECONDS", 60.0)
    assert register(url, "x", '"string"').status == 200
