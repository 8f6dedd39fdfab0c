"""The proxy's connections to brokers: plain, or over TLS and logged in with a client's settings.

Called by the proxy for each connection that a client opens. The client itself speaks plain text to the proxy. That is
why a proxy that logs in listens on this machine only and requires a login of its own.
"""

from __future__ import annotations

import logging
import ssl
import weakref
from struct import Struct
from typing import Any, Final

from oncelog.client.aio.connection.sasl import authenticate
from oncelog.client.aio.connection.tls import ssl_context
from oncelog.client.aio.connection.tokens import Tokens
from oncelog.client.core.config import ClientConfig
from oncelog.client.core.connection.wire import Api
from oncelog.errors import OncelogError
from oncelog.protocol.framing import decode_response_header, encode_request_header
from oncelog.protocol.wire import Message
from oncelog.runtime import real_asyncio as asyncio

logger = logging.getLogger(__name__)

_SIZE: Final = Struct(">i")


class Upstream:
    """Opens connections to brokers, encrypted and logged in according to ``config``; plain connections without it."""

    def __init__(self, config: ClientConfig | None) -> None:
        self._config = config
        self._tls: ssl.SSLContext | None = None
        self._tokens: Tokens | None = None
        self.writers: weakref.WeakSet[asyncio.StreamWriter] = weakref.WeakSet()
        """The streams to brokers."""
        self.why_closed = ""
        """Why a broker could not be reached or refused the login, the last time that happened."""
        if config is not None:
            self._tls = ssl_context(config) if config.security_protocol.endswith("SSL") else None
            self._tokens = Tokens(config)

    @property
    def identifies(self) -> bool:
        """Whether brokers know the proxy by an identity of its own: it logs in, or presents a client certificate."""
        config = self._config
        if config is None:
            return False
        protocol = config.security_protocol
        certificate = config.ssl_certfile or config.ssl_keystore_location or config.ssl_keystore_key
        return protocol.startswith("SASL") or (protocol == "SSL" and bool(certificate))

    async def reach(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Open a connection as :meth:`open` does; if that fails, log the reason and return None."""
        try:
            return await self.open(host, port)
        except (OSError, EOFError, OncelogError) as error:
            why, before = f"{host}:{port}: {error or type(error).__name__}", self.why_closed
        self.why_closed = why
        if why != before:  # logged only if the reason is new, because clients retry many times a second
            logger.warning("a client's connection was closed, because the broker cannot be reached: %s", why)
        return None

    async def open(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection that is ready for a client's requests.

        :raises OSError: the broker cannot be reached.
        :raises KafkaError: it refused the login.
        """
        name = host if self._tls is not None else None
        reader, writer = await asyncio.open_connection(host, port, ssl=self._tls, server_hostname=name)
        self.writers.add(writer)
        config, tokens = self._config, self._tokens
        if config is None or tokens is None or not config.security_protocol.startswith("SASL"):
            return reader, writer
        number = 0

        async def ask(api: Api, message: Message, version: int) -> Any:
            nonlocal number
            number += 1
            body = message.encode(version)
            writer.write(encode_request_header(api.key, version, number, config.client_id, len(body)) + body)
            (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
            frame = await reader.readexactly(size)
            _, position = decode_response_header(frame, api.key, version)
            return api.response.decode(frame, version, position)

        try:
            async with asyncio.timeout(config.request_timeout_ms / 1000):
                await authenticate(ask, config, tokens.token)
        except BaseException:
            writer.close()
            raise
        return reader, writer
