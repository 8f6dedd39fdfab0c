"""From settings to a broker that serves: data folder, metadata, core, listener.

Used by ``serve`` (its own process) and ``embedded`` (a thread of a Python program).
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from oncelog.broker.broker import Broker
from oncelog.broker.node import Node
from oncelog.config import BrokerConfig, parse_broker
from oncelog.errors import ConfigError, OncelogError
from oncelog.metadata.opening import open_metadata
from oncelog.metadata.store import FILE_NAME
from oncelog.ports import Disk
from oncelog.server.disk import OsDisk
from oncelog.server.memory_disk import MemoryDisk
from oncelog.server.server import Server, Worker


class ListenError(OncelogError):
    """The address can not be listened on: in use, not of this machine, or not permitted."""


class SystemRandom:
    """Unpredictable bytes from the operating system; implements ``ports.Random``."""

    def token(self, size: int) -> bytes:
        return os.urandom(size)


@dataclass(frozen=True, slots=True)
class Address:
    """Host and port of a listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Address:
        """``HOST:PORT`` or ``PLAINTEXT://HOST:PORT``; port 0 takes a free one."""
        protocol, named, _ = text.partition("://")
        if named and protocol != "PLAINTEXT":
            raise ConfigError(
                f"{text!r} asks for the protocol {protocol}, and this broker speaks PLAINTEXT alone: write "
                "PLAINTEXT://HOST:PORT or HOST:PORT"
            )
        host, separator, port = text.removeprefix("PLAINTEXT://").rpartition(":")
        if not separator or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(f"{text!r} is not an address: write HOST:PORT with a port from 0 to 65535")
        return cls(host.strip("[]") or "127.0.0.1", int(port))


def prepare_folder(path: Path) -> None:
    """Make the data folder; a clear error where that is not possible."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(f"the data folder {path} can not be used: a file is in the way") from None
    except OSError as error:
        raise ConfigError(f"the data folder {path} can not be made: {error.strerror}") from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise ConfigError(f"the data folder {path} can not be read and written by this user: change its permissions")


DEFAULT_LISTENER = "127.0.0.1:9092"


def place_of(listen: str | None, data: Path | None, settings: Mapping[str, str]) -> tuple[Address, Path | None]:
    """Where to listen and to keep everything: what was named, else Kafka's properties ``listeners`` and ``log.dirs``.

    :raises ConfigError: more than one listener or folder, or a listener that is not plain text.
    """
    if listen is None:
        listeners = [text.strip() for text in settings.get("listeners", "").split(",") if text.strip()]
        if len(listeners) > 1:
            raise ConfigError(f"listeners names {len(listeners)} addresses; this broker listens on one")
        listen = listeners[0] if listeners else DEFAULT_LISTENER
    folders = [
        text.strip() for text in settings.get("log.dirs", settings.get("log.dir", "")).split(",") if text.strip()
    ]
    if data is None and folders:
        if len(folders) > 1:
            raise ConfigError(f"log.dirs names {len(folders)} folders; this broker keeps its data in one")
        data = Path(folders[0])
    return Address.parse(listen), data


async def open_server(listen: Address, data: Path | None, settings: Mapping[str, str]) -> tuple[Server, Address]:
    """A serving broker and where it listens.

    :param data: the folder that keeps everything; None keeps it in memory.
    :param settings: Kafka's broker properties as text; unknown ones are refused.
    """
    config = parse_broker(settings)
    disk: Disk
    if data is None:
        disk, store_path = MemoryDisk(), ":memory:"
        config = replace(config, oncelog_flush_policy="none")
    else:
        disk, store_path = OsDisk(str(data)), str(data / FILE_NAME)
        prepare_folder(data)
    sock = _bind(listen)
    try:
        server, bound = _start(config, disk, store_path, Address(listen.host, sock.getsockname()[1]))
    except BaseException:
        sock.close()
        raise
    await server.listen(sock)
    return server, bound


def _start(config: BrokerConfig, disk: Disk, store_path: str, bound: Address) -> tuple[Server, Address]:
    """Open the metadata and every log; nothing listens yet."""
    random = SystemRandom()
    now_ms = Server.now_ms()
    metadata, config = open_metadata(
        store_path, disk, config, random, now_ms, sync=config.oncelog_flush_policy != "none"
    )
    advertised = Address.parse(config.advertised_listeners[0]) if config.advertised_listeners else bound
    loop = asyncio.get_running_loop()
    background = Worker(loop, "oncelog-background")
    flusher = Worker(loop, "oncelog-flusher")
    broker = Broker(
        config=config,
        node=Node(config.node_id, advertised.host, advertised.port or bound.port, config.broker_rack or None),
        metadata=metadata,
        disk=disk,
        random=random,
        background=background,
    )
    try:
        broker.recover(now_ms)
        broker.start(Server.now_ms())
    except BaseException:
        background.stop()
        flusher.stop()
        metadata.close()
        raise
    return Server(broker, flusher, background), bound


def _bind(listen: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((listen.host, listen.port))
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise ListenError(
                f"{listen} is in use by another program: choose another port, or 0 for a free one"
            ) from error
        raise ListenError(f"can not listen on {listen}: {error.strerror or error}") from error
    return sock
