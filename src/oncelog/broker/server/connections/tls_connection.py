"""A client connection over TLS: ``Connection`` with encryption between its buffers and the socket.

The event loop fills one buffer that all connections of a server share, because it is emptied before the loop continues.
The socket is read again only when everything received so far has been decrypted, so that the end of the connection is
never seen too early. Outgoing data is encrypted in chunks, as fast as the socket takes it. Ranges of files are read and
encrypted here; ``sendfile`` is only for plain listeners.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from oncelog.broker.core.login.distinguished_name import MalformedCertificate, PrincipalMapper, subject_of
from oncelog.broker.log.results import FileSlice
from oncelog.broker.server.connections.connection import Connection, ConnectionHost
from oncelog.broker.server.connections.sending import read_slice
from oncelog.broker.server.security.tls import CHUNK_BYTES, TlsStream, refusal

if TYPE_CHECKING:
    from oncelog.broker.core.requests.session import Session


MAX_UNASKED_BYTES = 16 * 1024
"""Limit in bytes on TLS's own messages (such as refusals to renegotiate) to a peer that does not read: the peer could
cause any number of them."""


class TlsConnection(Connection):
    """The server's side of one encrypted socket.

    :param buffer: the buffer for incoming bytes, shared by all connections.
    :param mapper: derives the principal from the client's certificate; None if the login determines it.
    """

    def __init__(
        self,
        server: ConnectionHost,
        connection_id: int,
        session: Session,
        context: ssl.SSLContext,
        buffer: memoryview,
        mapper: PrincipalMapper | None,
    ) -> None:
        super().__init__(server, connection_id, session)
        self._tls = TlsStream(context)
        self._arrivals = buffer
        self._mapper = mapper
        self._encrypted = memoryview(b"")
        self._ended = False

    @property
    def is_known(self) -> bool:
        return self._tls.established and super().is_known

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._arrivals

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        self.last_active = self._server.loop.time()
        self._tls.feed(self._arrivals[:nbytes])
        self._decrypt_or_refuse()

    def _decrypt_or_refuse(self) -> None:
        try:
            if self._tls.established or self._handshake():
                self._decrypt()
        except ssl.SSLError as error:
            self._refuse(refusal(error))
        if self._writer is not None and self._tls.outgoing_bytes > MAX_UNASKED_BYTES:
            self.cut_off("the client keeps causing TLS messages and does not read them")
        self._server.writable[self] = None
        self._server.end_iteration_soon()

    def _handshake(self) -> bool:
        """Continue the TLS handshake; returns True once the peer is identified."""
        if not self._tls.handshake():
            return False
        certificate = self._tls.peer_certificate()
        if certificate is None or self._mapper is None:
            return True
        try:
            subject = subject_of(certificate)
        except MalformedCertificate as error:
            self._refuse(str(error))
            return False
        name = self._mapper.name(subject)
        if name is None:
            self._refuse(f"no rule of ssl.principal.mapping.rules applies to {subject!r}")
            return False
        self.session.principal = f"User:{name}"
        return True

    def _read_on(self) -> None:
        """Decrypt bytes that arrived before memory was granted, or during other callbacks; only then read the socket
        again."""
        self._server.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self._closing:
            self._decrypt_or_refuse()

    def _decrypt(self) -> None:
        while self._may_read():
            count = self._tls.read_into(super().get_buffer(-1))
            if count < 0:
                self.close("the client has ended TLS")
            elif count == 0:
                super()._read_on()
                return
            else:
                self._received(count)

    def _refuse(self, reason: str) -> None:
        if not self._closing:
            self._server.broker.security_log.refused_connection(
                self.client_host, f"TLS: {reason}", self._server.now_ms()
            )
            self.close(f"TLS: {reason}")

    def _send(self) -> bool:
        target = self._socket
        while target is not None:
            if not self._encrypted and not self._encrypt():
                self._out_bytes = 0
                return True
            try:
                sent = target.send(self._encrypted)
            except BlockingIOError:
                return False
            self._encrypted = self._encrypted[sent:]
        return True

    def _encrypt(self) -> bool:
        """Encrypt the next chunk to be sent; returns False if there is none."""
        if self._out:
            self._tls.encrypt(self._next_piece())
        elif self._closing and not self._ended:
            self._ended = True
            self._tls.end()
        self._encrypted = memoryview(self._tls.take_outgoing())
        return bool(self._encrypted)

    def _next_piece(self) -> bytes:
        chunks: list[bytes | bytearray | memoryview] = []
        size = 0
        while self._out and size < CHUNK_BYTES:
            first, room = self._out[0], CHUNK_BYTES - size
            if isinstance(first, FileSlice):
                count = min(first.size_bytes, room)
                chunks.append(read_slice(FileSlice(first.file, first.position, count)))
                rest = FileSlice(first.file, first.position + count, first.size_bytes - count)
                left = rest.size_bytes
            else:
                count = min(len(first), room)
                whole = memoryview(first)
                chunks.append(whole[:count])
                rest, left = whole[count:], len(first) - count  # type: ignore[assignment]
            size += count
            if left:
                self._out[0] = rest
            else:
                self._out.popleft()
        return b"".join(chunks)

    def _abort(self) -> None:
        self._encrypted = memoryview(b"")
        super()._abort()
