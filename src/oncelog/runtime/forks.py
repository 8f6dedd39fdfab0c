"""Closes the sockets of brokers and clients that a forked child inherits.

A child has duplicates of its parent's sockets. While it lives, an address that the parent has left would still accept
connections, which no server serves, and connections that the parent has closed would never end. Whatever opens sockets
is therefore registered here, and the child closes its duplicates right after the fork.

Invariants
- A child changes nothing that it shares with its parent: it sends nothing on a connection, and removes nothing from an
  event loop's ``epoll``.
- A descriptor's number stays taken in the child (by the null device), because the Python objects that the child
  inherited close that number when they are collected.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import socket
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import uvicorn

    from oncelog.runtime import real_asyncio as asyncio


class SocketOwner(Protocol):
    """An object with open sockets that a forked child must close."""

    def descriptors(self) -> Iterable[int]:
        """The descriptors of the open sockets; -1 stands for a closed socket. Called in the child, on any thread."""
        ...


class HttpSockets:
    """The sockets of an HTTP server, which a forked child must close."""

    def __init__(self, server: uvicorn.Server, listening: socket.socket) -> None:
        self._server, self._listening = server, listening

    def descriptors(self) -> list[int]:
        """The descriptors of listening sockets and of connections."""
        served = [getattr(connection, "transport", None) for connection in self._server.server_state.connections]
        return [self._listening.fileno(), *(descriptor_of(transport) for transport in served)]


Socket = cast("type[socket.socket]", _socket.socket.__subclasses__()[0])
"""The class ``socket.socket``, even if this module is imported while a test replaces that name. Mocks of
``socket.socket`` are not to send the answers of a broker that runs beside the test; a simulation replaces this name."""

_owners: weakref.WeakSet[SocketOwner] = weakref.WeakSet()
_generation = 0


def generation() -> int:
    """The number of forks between this process and the one that imported this module. It tells a forked child from its
    parent even while a test replaces ``os.getpid``."""
    return _generation


def let_go_in_children(owner: SocketOwner) -> None:
    """Close the descriptors of ``owner`` in the children of this process."""
    _owners.add(owner)


def descriptor_of(transport: asyncio.BaseTransport | None) -> int:
    """The descriptor of a transport's socket; -1 if the socket is closed."""
    if transport is None or transport.is_closing():
        return -1
    found = transport.get_extra_info("socket")
    return int(found.fileno()) if found is not None else -1


def loop_descriptors(loop: asyncio.AbstractEventLoop) -> Iterable[int]:
    """The descriptor of an asyncio loop's selector, which a child must not change; empty for loops without a
    selector."""
    selector = getattr(loop, "_selector", None)
    fileno = getattr(selector, "fileno", None)
    if fileno is not None:
        with contextlib.suppress(ValueError):  # it is closed
            yield fileno()


def end(descriptor: int) -> None:
    """End the connection of a socket that is about to be closed, or refuse connections on a listening socket, even if
    another process has a duplicate of the socket. Does nothing for -1."""
    if descriptor < 0:
        return
    with contextlib.suppress(OSError):  # the peer has closed first
        sock = Socket(fileno=descriptor)
        try:
            sock.shutdown(socket.SHUT_RDWR)
        finally:
            sock.detach()


def _after_fork() -> None:
    global _generation
    _generation += 1
    owners = list(_owners)
    _owners.clear()
    descriptors = [number for owner in owners for number in owner.descriptors() if number >= 0]
    if not descriptors:
        return
    null = os.open(os.devnull, os.O_RDWR)
    for number in descriptors:
        os.dup2(null, number, inheritable=False)
    os.close(null)


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)
