"""Sends the answers of one connection to its socket, in the order of their requests.

The base class of ``Connection``. Writing bypasses the event loop's transport and uses its socket: ``send`` for bytes
and ``sendfile`` for ranges of segment files, with the loop's ``add_writer`` on a duplicate of the socket while the
socket is full.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.log.results import FileSlice
from oncelog.broker.server.connections.parts import AnswerOrder, Budget
from oncelog.errors import StorageError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime.ports import Buffer

if TYPE_CHECKING:
    from oncelog.broker.core.broker import Broker
    from oncelog.broker.core.limits.request_memory import RequestMemory
    from oncelog.broker.core.requests.session import Part

logger = logging.getLogger(__name__)

SEND_AT_ONCE = 64
"""The number of buffers passed to one ``sendmsg``, far below the kernel's IOV_MAX."""
OUT_AT_ONCE_BYTES = 64 * 1024
"""If at least this many bytes wait to be sent, the connection's next request waits, too."""
COPIED_BYTES = 16 * 1024
"""Up to this size in bytes, a range of a file is read and sent together with the bytes around it, because three system
calls cost more than a copy."""
LARGE_ANSWER_BYTES = 4096
ANSWER_PRICE = 4
"""The cost per byte of a large answer: long lists consist of small fields, and a short request can ask for them."""
MSG_MORE = getattr(socket, "MSG_MORE", 0)
CAN_GATHER = hasattr(socket.socket, "sendmsg")
"""Whether several buffers can be sent in one call. Linux has this and ``MSG_MORE``, macOS only this, Windows
neither.
"""


class UnreadableFile(StorageError):
    """The disk cannot read ``part``, a range of a file in an answer."""

    def __init__(self, part: FileSlice, reason: str) -> None:
        super().__init__(reason)
        self.part = part


class SendingHost(Protocol):
    """The interface that sending a connection's answers needs from its server."""

    broker: Broker
    loop: asyncio.AbstractEventLoop
    memory: RequestMemory
    writable: dict[Sending, None]

    def end_iteration_soon(self) -> None: ...


class Sending:
    """Sends the answers of a connection in order; long answers use up its budget."""

    __slots__ = (
        "_budget",
        "_closing",
        "_order",
        "_out",
        "_out_bytes",
        "_out_counted",
        "_server",
        "_socket",
        "_transport",
        "_waiting",
        "_writer",
        "client_host",
        "kept_since",
        "last_active",
        "progressed",
        "silent",
    )

    def __init__(self, server: SendingHost) -> None:
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._writer: socket.socket | None = None
        self.client_host = ""
        self.last_active = self.progressed = server.loop.time()
        self._order = AnswerOrder()
        self._budget = Budget()
        self._out: deque[Part] = deque()
        self._out_bytes = 0
        self._out_counted = 0
        self.kept_since = 0.0
        """The time since which the peer has not read answers whose memory is counted."""
        self._waiting: bytearray | None = None
        self._closing = False
        self.silent = False
        """Whether the connection's node is partitioned from the network, so that nothing is read or sent."""

    def resume(self) -> None:
        """Continue with requests that waited for answers to be sent."""
        raise NotImplementedError

    def reply(self, slot: int, parts: Sequence[Part]) -> None:
        if self._socket is None:
            return
        order = self._order
        if slot != order.next_reply:
            order.replies[slot] = parts
            return
        ready: Sequence[Part] | None = parts
        while ready is not None:
            order.next_reply = slot = slot + 1
            if len(ready) == 1:  # most often
                self._out.append(ready[0])
                size_bytes = len(ready[0])
            else:
                self._out.extend(ready)
                size_bytes = sum(map(len, ready))  # a range of a file counts as few bytes, because it takes no memory
            self._out_bytes += size_bytes
            if size_bytes > LARGE_ANSWER_BYTES:
                self._budget.used += ANSWER_PRICE * size_bytes
            ready = order.replies.pop(slot, None) if order.replies else None
        self._server.writable[self] = None  # the answers are sent at the end of this iteration

    def write(self) -> None:
        """Send the answers that are ready; if the socket is full, the event loop calls this again."""
        if self._socket is None or self.silent:
            self._disarm_writer()
            return
        try:
            done = self._send()
        except (BrokenPipeError, ConnectionResetError, ConnectionAbortedError):
            self._abort()
            return
        except (OSError, StorageError) as error:
            logger.warning("cannot answer %s: %s", self.client_host, error)
            self._abort()  # part of the answer has been sent, so no error can be sent instead
            if isinstance(error, UnreadableFile):
                file, position, size_bytes = error.part
                self._server.broker.logs.find_unreadable(file.path, position, size_bytes)
            return
        if not done:
            if not self._arm_writer():
                return
            self._keep(self._out_bytes if self._out_bytes > OUT_AT_ONCE_BYTES else 0)
            return
        if self._writer is not None:
            self._disarm_writer()
        if self._out_counted:
            self._keep(0)
        if self._closing:
            if self._transport is not None:
                self._transport.close()
        elif self._waiting is not None:
            self.resume()

    def _send(self) -> bool:
        """Send as much as the socket takes; returns True when everything has been sent."""
        out, target = self._out, self._socket
        while out and target is not None:
            first = out[0]
            try:
                if type(first) is FileSlice:
                    if first.size_bytes <= COPIED_BYTES:
                        self._send_buffers(target)
                    elif not self._send_file(first, target):
                        return False
                elif len(out) > 1:
                    self._send_buffers(target)
                elif (sent := target.send(first)) == len(first):
                    out.clear()
                    break
                else:
                    out[0] = memoryview(first)[sent:]
            except BlockingIOError:
                return False
        self._out_bytes = 0
        return True

    def _send_buffers(self, target: socket.socket) -> None:
        out = self._out
        buffers: list[Buffer] = []
        copied = 0
        for part in out if len(out) <= SEND_AT_ONCE else islice(out, SEND_AT_ONCE):
            if type(part) is FileSlice:
                _, _, size_bytes = part
                if size_bytes > COPIED_BYTES or copied >= OUT_AT_ONCE_BYTES:
                    break
                copied += size_bytes
                part = read_slice(part)  # read again later if the socket does not take these bytes now
            buffers.append(part)
        if self._out_bytes + copied <= COPIED_BYTES and len(buffers) == len(out):
            whole = b"".join(buffers)
            sent = target.send(whole)
            out.clear()
            if sent < len(whole):
                out.append(memoryview(whole)[sent:])
            return
        # MSG_MORE lets the kernel put a header and the file that follows it into one segment.
        flags = MSG_MORE if len(buffers) < len(out) else 0
        sent = target.sendmsg(buffers, (), flags) if CAN_GATHER else target.send(b"".join(buffers), flags)
        for part in buffers:
            size = len(part)
            if sent < size:
                out[0] = memoryview(part)[sent:]
                return
            sent -= size
            out.popleft()

    def _send_file(self, part: FileSlice, target: socket.socket) -> bool:
        """Send a range of a file. Returns True when it has been sent, or was read into bytes to be sent next; False if
        the socket is full, as an incomplete write shows: another call would only be refused."""
        try:
            sent = part.file.send_to(target.fileno(), part.position, part.size_bytes)
        except (BlockingIOError, ConnectionError):
            raise
        except (OSError, StorageError):
            read_slice(part._replace(size_bytes=1))  # determine whether the disk or the network failed
            raise
        if sent < 0:
            data = self._out[0] = read_slice(part)
            self._out_bytes += len(data)
            return True
        if sent == part.size_bytes:
            self._out.popleft()
            return True
        if not sent:
            raise _too_short(part)
        self._out[0] = FileSlice(part.file, part.position + sent, part.size_bytes - sent)
        return False

    def descriptors(self) -> list[int]:
        """The descriptors of the connection's socket and of the duplicate that is watched, for a forked child
        process."""
        return [sock.fileno() for sock in (self._socket, self._writer) if sock is not None]

    def _arm_writer(self) -> bool:
        """Watch for the socket to become writable; returns False if no descriptor is free for that, in which case the
        connection is closed."""
        if self._writer is None and self._socket is not None:
            try:
                # a duplicate, because asyncio lets only the transport watch its own descriptor
                self._writer = self._socket.dup()
            except OSError as error:
                logger.warning("%s does not read its answers and is disconnected: %s", self.client_host, error)
                self._abort()
                return False
            self._server.loop.add_writer(self._writer.fileno(), self._writable)
        return True

    def _disarm_writer(self) -> None:
        if self._writer is not None:
            self._server.loop.remove_writer(self._writer.fileno())
            self._writer.close()
            self._writer = None

    def _writable(self) -> None:
        self.last_active = self.progressed = self._server.loop.time()
        self.write()
        self._server.end_iteration_soon()

    @property
    def kept_bytes(self) -> int:
        """The estimated memory in bytes of long answers that the peer has not received yet."""
        return self._out_counted

    def _keep(self, size_bytes: int) -> None:
        """Count the memory of answers that wait for the peer, in addition to that of requests."""
        if not self._out_counted:
            self.kept_since = self._server.loop.time()
        more, self._out_counted = size_bytes - self._out_counted, size_bytes
        self._server.memory.estimate(more)

    def _abort(self) -> None:
        self._out.clear()
        self._disarm_writer()
        self._keep(0)
        if self._transport is not None:
            self._transport.abort()


def read_slice(part: FileSlice) -> bytes:
    """The bytes of a range of a file.

    :raises UnreadableFile: the disk cannot read them all.
    """
    file, position, size_bytes = part
    try:
        data = file.read_at(position, size_bytes)
    except StorageError as error:
        raise UnreadableFile(part, str(error)) from error
    if len(data) < size_bytes:
        raise _too_short(part)
    return data


def _too_short(part: FileSlice) -> UnreadableFile:
    return UnreadableFile(part, f"{part.file.path} ends before position {part.position + part.size_bytes}")
