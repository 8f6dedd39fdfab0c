"""Which addresses are asked through a proxy, by the variables that curl and ``urllib`` read."""

from __future__ import annotations

import socket

import pytest

from oncelog.runtime.http_proxies import Proxy, UnusableProxy, is_on_this_machine, proxy_for

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD")
REMOTE = "203.0.113.7"
"""An address of the block for documentation (RFC 5737), which no machine has."""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


CASES: list[tuple[dict[str, str], str, str | None]] = [
    ({}, f"https://{REMOTE}", None),
    ({"HTTPS_PROXY": "http://p:3128"}, f"https://{REMOTE}:8081/x", "p:3128"),
    ({"https_proxy": "http://p:3128"}, f"https://{REMOTE}", "p:3128"),
    ({"HTTPS_PROXY": "http://upper:1", "https_proxy": "http://lower:2"}, f"https://{REMOTE}", "lower:2"),
    ({"HTTPS_PROXY": "http://p:3128"}, f"http://{REMOTE}", None),
    ({"HTTP_PROXY": "p:3128"}, f"http://{REMOTE}", "p:3128"),
    ({"HTTP_PROXY": "http://p"}, f"http://{REMOTE}", "p:80"),
    ({"HTTP_PROXY": "http://p:3128", "REQUEST_METHOD": "GET"}, f"http://{REMOTE}", None),  # CGI's header Proxy
    ({"ALL_PROXY": "http://p:3128"}, f"https://{REMOTE}", "p:3128"),
    ({"ALL_PROXY": "http://p:3128", "HTTPS_PROXY": "http://q:1"}, f"https://{REMOTE}", "q:1"),
    ({"ALL_PROXY": "http://p:3128", "NO_PROXY": "*"}, f"https://{REMOTE}", None),
    ({"ALL_PROXY": "http://p:3128", "NO_PROXY": REMOTE}, f"https://{REMOTE}", None),
    ({"ALL_PROXY": "http://p:3128", "NO_PROXY": f"{REMOTE}:8081"}, f"https://{REMOTE}:8081", None),
    ({"ALL_PROXY": "http://p:3128", "NO_PROXY": f"{REMOTE}:8081"}, f"https://{REMOTE}:8082", "p:3128"),
    ({"ALL_PROXY": "http://p:3128", "NO_PROXY": "203.0.113.0/24, x"}, f"https://{REMOTE}", None),
    ({"ALL_PROXY": "http://p:3128", "NO_PROXY": "203.0.114.0/24"}, f"https://{REMOTE}", "p:3128"),
    ({"ALL_PROXY": "http://p:3128", "no_proxy": ".invalid"}, "https://registry.shop.invalid", None),
    ({"ALL_PROXY": "http://p:3128", "no_proxy": "shop.invalid"}, "https://registry.shop.invalid", None),
    ({"ALL_PROXY": "http://p:3128", "no_proxy": "shop.invalid"}, "https://my-shop.invalid", "p:3128"),
    ({"ALL_PROXY": "http://p:3128"}, "https://registry.shop.invalid:443/a?b", "p:3128"),
]


@pytest.mark.parametrize(("variables", "url", "expected"), CASES)
def test_the_proxy_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], url: str, expected: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = proxy_for(url)
    assert (None if found is None else f"{found.host}:{found.port}") == expected


OWN = ["127.0.0.1", "127.9.8.7", "localhost", "LOCALHOST.", "a.localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]"]


@pytest.mark.parametrize("host", OWN)
def test_a_local_address_bypasses_the_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://p:3128")
    assert proxy_for(f"http://{host}:8081") is None
    assert proxy_for(f"https://{host}:8081") is None


def test_the_addresses_of_network_interfaces_count_as_this_machine() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((REMOTE, 9))  # sends nothing; says which address would
        except OSError:
            pytest.skip("this machine has no address but loopback")
        assert is_on_this_machine(probe.getsockname()[0])
    assert not is_on_this_machine(REMOTE)


def test_the_credentials_of_the_proxy_are_hidden_in_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://al%40ice:s%3Acret@p:3128")
    assert proxy_for(f"https://{REMOTE}") == Proxy("p", 3128, "Basic YWxAaWNlOnM6Y3JldA==")
    for address in ("socks5://u:secret@p:1080", "https://u:secret@p:3128", "http://u:secret@p:port"):
        monkeypatch.setenv("HTTPS_PROXY", address)
        with pytest.raises(
            UnusableProxy, match=r"cannot be used: give it as http://HOST:PORT, or add the host"
        ) as refused:
            proxy_for(f"https://{REMOTE}")
        assert "secret" not in str(refused.value)
