"""Serves a registry over HTTP: in a command's loop, or in a thread of its own. Called by the command line and
``embedded``."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from oncelog.broker.server.listener_settings import DEFAULT_HOST, Address
from oncelog.broker.server.process.loops import new_event_loop
from oncelog.errors import ConfigError, OncelogError
from oncelog.runtime import forks
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.loop_thread import LoopThread
from oncelog.schema_registry.settings import Login, RegistrySettings

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger(__name__)

BACKLOG = 1024
GRACE_SECONDS = 2
MAX_CONNECTIONS = 5000
STOPPING = b'{"error_code":50005,"message":"This registry stops; whether the request was carried out is not known"}'
"""The answer to a request that is still unfinished when the stop's time limit has passed."""


def check_listening(settings: RegistrySettings, address: Address, *, open_to_all: bool = False) -> None:
    """Check the settings before the registry listens.

    :param open_to_all: the registry requires no login, whatever address it listens on.
    :raises ConfigError: others could reach the registry, and it would require no login; or its URL or its TLS files are
        not valid.
    """
    if settings.url is not None:
        _check_url(settings.url)
    if (settings.certificate is None) != (settings.key is None):
        raise ConfigError("TLS needs both a certificate and its private key")
    if settings.login is Login.NONE and not address.is_loopback and open_to_all:
        logger.warning("the schema registry on %s has no login, and is open to all who reach that address", address)
    elif settings.login is Login.NONE and not address.is_loopback:
        raise ConfigError(
            f"a schema registry without a login listens on this machine only, not on {address}: "
            "use --login kafka, which requires a user of the cluster and applies its ACLs"
        )


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.netloc and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or "@" in url or url.rstrip("/") != f"{parts.scheme}://{parts.netloc}":
        raise ConfigError(f"the URL of a schema registry is http://HOST:PORT or https://HOST:PORT, not {url!r}")


def bind(address: Address) -> socket.socket:
    """A listening socket.

    :raises OncelogError: the address is in use, or is not this machine's.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio sends the parts of an answer without delay (TCP_NODELAY) only if the socket names its protocol
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise OncelogError(f"the schema registry cannot listen on {address}: {error.strerror}") from error
    return listening


def url_of(settings: RegistrySettings, listening: socket.socket) -> str:
    """The registry's URL; if the registry listens on all addresses, the URL has this machine's loopback address."""
    address = Address(*listening.getsockname()[:2])
    if address.is_every:
        address = address._replace(host="::1" if ":" in address.host else DEFAULT_HOST)
    return f"{'http' if settings.certificate is None else 'https'}://{address}"


async def serve(settings: RegistrySettings, listening: socket.socket, ended: asyncio.Event) -> None:
    """Serve the registry until ``ended`` is set."""
    import uvicorn

    from oncelog.schema_registry.access import AccessControl
    from oncelog.schema_registry.forwarding import Forwarder
    from oncelog.schema_registry.routes import App
    from oncelog.schema_registry.service import Registry

    forwarder = Forwarder(settings.certificate)
    registry = Registry(settings, settings.url or url_of(settings, listening), forwarder.answers)
    config = uvicorn.Config(
        _Stoppable(App(registry, AccessControl(settings), forwarder, settings.max_body_bytes), ended),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=GRACE_SECONDS,
        limit_concurrency=MAX_CONNECTIONS,
    )
    config.load()
    config.ssl = _tls(settings)
    server = uvicorn.Server(config)
    sockets = forks.HttpSockets(server, listening)
    forks.let_go_in_children(sockets)
    await registry.start()
    try:
        task = asyncio.ensure_future(_run(server, listening))
        stop = asyncio.ensure_future(ended.wait())
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        server.should_exit = True
        await task
    finally:
        await registry.close()


class _Stoppable:
    """Answers requests that the server abandons when it stops; otherwise each would be logged as an error."""

    def __init__(self, app: ASGIApp, ended: asyncio.Event) -> None:
        self._app, self._ended = app, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except asyncio.CancelledError:
            if not self._ended.is_set():
                raise
            if begun:
                return  # the client does not read the rest, and the connection is closed
            headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 503, "headers": headers})
            await send({"type": "http.response.body", "body": STOPPING})


async def _run(server: uvicorn.Server, listening: socket.socket) -> None:
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    await server.serve(sockets=[listening])


def _tls(settings: RegistrySettings) -> ssl.SSLContext | None:
    if settings.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"the certificate {settings.certificate} cannot be used: {error}") from error
    return context


class RegistryThread:
    """A registry in a thread of this process; it listens as soon as the object is created, and loads the topic in the
    background.
    """

    def __init__(self, settings: RegistrySettings, address: Address, *, open_to_all: bool = False) -> None:
        check_listening(settings, address, open_to_all=open_to_all)
        self._settings = settings
        self._listening = bind(address)
        self.url = settings.url or url_of(settings, self._listening)
        self.address = Address(*self._listening.getsockname()[:2])
        self._ended: asyncio.Event | None = None
        self._thread: LoopThread | None = None
        self._serving: asyncio.Task[None] | None = None
        forks.let_go_in_children(self)

    def descriptors(self) -> list[int]:
        """The descriptor of the listening socket, which forked children close."""
        return [self._listening.fileno()]

    def start(self) -> Self:
        """Serve; requests wait until the topic has been read."""
        self._thread = LoopThread(
            new_event_loop(), "oncelog-schema-registry", "the schema registry", "the schema registry is not running"
        )
        self._thread.at_death.append(self._end)
        self._thread.call_soon(self._begin)
        return self

    def _begin(self) -> None:
        self._ended = asyncio.Event()
        self._serving = asyncio.get_running_loop().create_task(serve(self._settings, self._listening, self._ended))

    @property
    def is_inherited(self) -> bool:
        """Whether the registry runs in the parent of this forked process."""
        return self._thread is not None and self._thread.is_inherited

    def stop(self) -> None:
        """Stop the registry; does nothing if it has stopped, or in a forked child."""
        if self.is_inherited:
            return
        if self._thread is not None:
            self._thread.end(self._end)
            self._thread = None
        forks.end(self._listening.fileno())
        self._listening.close()

    async def _end(self) -> None:
        if self._ended is not None and self._serving is not None:
            self._ended.set()
            await asyncio.gather(self._serving, return_exceptions=True)
