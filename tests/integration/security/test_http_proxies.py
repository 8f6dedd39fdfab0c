"""Requests with credentials, a proxy in the environment: never to it for this machine, always for others."""

from __future__ import annotations

import ssl
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from oncelog.client.aio.connection.tokens import _ask_endpoint
from oncelog.client.core.config import ProducerConfig
from oncelog.runtime.http_proxies import open_url
from oncelog.schemas import SchemaRegistry, SchemaRegistryError
from oncelog.spark.reporting import ConsoleReporter
from tests.integration.schema_registry.stand_in import running
from tests.integration.security.certificates import Authority
from tests.support.http_proxy import HttpProxy
from tests.support.token_server import TokenServer

REMOTE = "service.invalid"
"""A name that nobody but the proxy knows (RFC 6761)."""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


def test_a_registry_on_this_machine_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as registry, HttpProxy({}) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        for host in ("127.0.0.1", "localhost"):
            with SchemaRegistry(f"http://{host}:{port_of(registry.url)}", user="alice", password="secret") as asked:
                assert asked.subjects() == []
        assert proxy.requests == []


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_another_registry_is_asked_through_the_proxy(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with running() as registry, HttpProxy({REMOTE: port_of(registry.url)}, "Basic dTpw") as proxy:
        monkeypatch.setenv(variable, proxy.url.replace("//", "//u:p@"))
        with SchemaRegistry(f"http://{REMOTE}:8081/base") as asked, pytest.raises(SchemaRegistryError):
            asked.schema(7)
        assert proxy.requests == [("GET", f"http://{REMOTE}:8081/base/schemas/ids/7")]
        assert [target for _, target, _ in registry.requests] == ["/base/schemas/ids/7"]
        assert "Proxy-Authorization" not in registry.requests[0][2]
        monkeypatch.setenv(variable, proxy.url)
        asked = SchemaRegistry(f"http://{REMOTE}:8081", retries=0)
        with pytest.raises(SchemaRegistryError, match="407"):
            asked.subjects()
        monkeypatch.setenv("NO_PROXY", ".invalid")
        with pytest.raises(SchemaRegistryError, match="cannot be reached: "):
            asked.subjects()
        assert len(proxy.requests) == 2


class NoSubjects(BaseHTTPRequestHandler):
    """A registry without subjects."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, *words: object) -> None:
        """Says nothing."""


def test_tls_goes_through_a_tunnel_that_hides_the_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue("registry", host=REMOTE).store)
    server = ThreadingHTTPServer(("127.0.0.1", 0), NoSubjects)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with HttpProxy({REMOTE: server.server_address[1]}, "Basic dTpw") as proxy:
            monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//u:p@"))
            secure: Any = {"user": "alice", "password": "secret", "ca_file": str(authority.certificate)}
            with SchemaRegistry(f"https://{REMOTE}:8081", **secure) as asked:
                assert asked.subjects() == asked.subjects() == []
            assert proxy.requests == [("CONNECT", f"{REMOTE}:8081")]
            assert "\nAuthorization" not in proxy.heads[0]
    finally:
        server.shutdown()
        server.server_close()


def token(url: str) -> str:
    config = ProducerConfig(
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_endpoint_url=url,
        sasl_oauthbearer_client_id="id",
        sasl_oauthbearer_client_secret="secret",
    )
    return _ask_endpoint(url, config).text


def test_a_token_endpoint_is_reached_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with TokenServer({"id": "secret"}) as tokens, HttpProxy({REMOTE: port_of(tokens.url)}) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert token(tokens.url)
        assert proxy.requests == []
        assert token(f"http://{REMOTE}/token")
        assert proxy.requests == [("POST", f"http://{REMOTE}/token")]


def test_reports_to_a_console_go_through_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with running() as console, HttpProxy({REMOTE: port_of(console.url)}) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        for url in (console.url, f"http://{REMOTE}"):
            reporter = ConsoleReporter(url, "secret")
            reporter.state("orders", "running")
            reporter.close()
        assert proxy.requests == [("POST", f"http://{REMOTE}/api/pipelines")]


def test_credentials_do_not_follow_a_redirection() -> None:
    with running() as thief, running() as registry:
        moved = (302, {"Location": f"{thief.url}/x"}, b"")
        registry.misbehave = lambda target: moved
        request = urllib.request.Request(registry.url, headers={"Authorization": "Bearer secret"})
        with pytest.raises(urllib.error.HTTPError, match="302"):
            open_url(request, 5)
        assert thief.requests == []
