"""Ports for servers that cannot choose a free port by themselves."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress

FIRST, LAST = 10_240, 32_767


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 on which nothing listens.

    They are below those that operating systems give to sockets without a port: a server that starts slowly would find
    such a port taken, by any connection of another process.
    """
    with ExitStack() as held:
        found: list[int] = []
        while len(found) < count:
            with suppress(OSError):  # somebody has the port
                server = socket.create_server(("127.0.0.1", random.SystemRandom().randint(FIRST, LAST)))
                found.append(held.enter_context(server).getsockname()[1])
        return found
