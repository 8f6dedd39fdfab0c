"""Decides which HTTP requests go through a proxy, by one rule for registries, token endpoints, key sets and reports.

The environment variables ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` decide, in upper or lower
case, as for curl and ``urllib``. A request to an address of this machine never goes through a proxy, which could not
reach the address, and would read the credentials.
"""

from __future__ import annotations

import base64
import ipaddress
import socket
import urllib.request
from contextlib import suppress
from http.client import HTTPResponse
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

_PORTS = {"http": 80, "https": 443}


class UnusableProxy(OSError):
    """The environment names a proxy that cannot be used."""


class Proxy(NamedTuple):
    """An HTTP proxy; ``authorization`` is the header ``Proxy-Authorization``, if its address has a user."""

    host: str
    port: int
    authorization: str | None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request to the proxy."""
        return {} if self.authorization is None else {"Proxy-Authorization": self.authorization}


def proxy_for(url: str) -> Proxy | None:
    """The proxy for requests to a URL; None if they are sent directly.

    :raises UnusableProxy: the environment names a proxy that does not speak HTTP.
    """
    parts = urlsplit(url)
    named = urllib.request.getproxies_environment()
    address = named.get(parts.scheme) or named.get("all")
    host = parts.hostname or ""
    if not address or not host or _is_excepted(host, parts.port or _PORTS.get(parts.scheme, 0), named):
        return None
    if is_on_this_machine(host):
        return None
    return _parsed(address)


def _parsed(address: str) -> Proxy:
    parts = urlsplit(address if "://" in address else f"http://{address}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if parts.scheme != "http" or not host:
        shown = address.rpartition("@")[2]  # not the password
        raise UnusableProxy(
            f"the proxy {shown!r} of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY cannot be used: give it as http://HOST:PORT, "
            "or add the host that is asked to NO_PROXY"
        )
    authorization = None
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(user.encode()).decode()
    return Proxy(host, port or _PORTS["http"], authorization)


def _is_excepted(host: str, port: int, named: dict[str, str]) -> bool:
    """Whether NO_PROXY lists the host, one of its domains, or a network (``10.0.0.0/8``) that contains its address."""
    if urllib.request.proxy_bypass_environment(f"{host}:{port}", named):  # type: ignore[attr-defined]
        return True
    with suppress(ValueError):
        address = ipaddress.ip_address(host)
        for one in named.get("no", "").split(","):
            with suppress(ValueError):
                if address in ipaddress.ip_network(one.strip().strip("[]"), strict=False):
                    return True
    return False


def is_on_this_machine(host: str) -> bool:
    """Whether a name or an address belongs to this machine: a loopback address, or that of one of its interfaces."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        found = {str(ipaddress.ip_address(host.partition("%")[0]))}
    except ValueError:
        try:
            found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
        except OSError:  # only the proxy can resolve this host name
            return False
    return bool(found) and all(map(_is_own, found))


def _is_own(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.is_loopback or ip.is_unspecified:
        return True
    family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(ip), 0))
    except OSError:
        return False
    return True


class _Proxies(urllib.request.BaseHandler):
    handler_order = 100  # lower than the 500 of urllib's handlers, so that this one runs before they connect

    def http_open(self, request: urllib.request.Request) -> HTTPResponse | None:
        proxy = proxy_for(request.full_url)
        if proxy is not None and not request.has_proxy():
            for name, value in proxy.headers.items():
                request.add_unredirected_header(name, value)
            host = f"[{proxy.host}]" if ":" in proxy.host else proxy.host
            request.set_proxy(f"{host}:{proxy.port}", request.type or "http")
        return None

    https_open = http_open


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *moved: Any) -> None:
        """Refuse a redirect, so that credentials reach only the host for which they are meant."""


def open_url(request: urllib.request.Request | str, timeout_s: float, *, redirects: bool = False) -> HTTPResponse:
    """Like ``urlopen``, through a proxy if this module's rule says so.

    :param redirects: whether to follow redirects; must be false for a request with credentials.
    :raises OSError: the server cannot be reached; ``HTTPError`` if its answer is an error.
    """
    following = () if redirects else (_NoRedirects(),)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Proxies(), *following)
    answer: HTTPResponse = opener.open(request, timeout=timeout_s)
    return answer
