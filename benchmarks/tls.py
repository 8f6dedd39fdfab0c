"""Measures the price of TLS: the same records through a plain and a TLS listener of oncelog and of Apache Kafka.

    python -m benchmarks.tls [--megabytes N] [--only oncelog|kafka]

confluent-kafka produces records of 1 KB and reads them back; then connections are made one after the other. Figures are
the broker's CPU time (user and system), which other load on the machine changes little, and elapsed time.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, Producer

import benchmarks.limits as limits
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from tests.integration.security.certificates import Authority
from tests.support.apache_kafka import ApacheKafka
from tests.support.crash_rounds.node import ServeProcess

RECORD = b"x" * 1000
HANDSHAKES = 200


class Served(NamedTuple):
    """A broker with a plain listener and one with TLS 1.3."""

    pid: int
    plain: str
    encrypted: str


@contextmanager
def ours(folder: Path, keystore: Mapping[str, str]) -> Iterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as plain, socket.create_server(("127.0.0.1", 0)) as encrypted:
        ports = [sock.getsockname()[1] for sock in (plain, encrypted)]
    folder.mkdir()
    node = ServeProcess(folder, {"num.partitions": "1", **keystore})
    node.listen = f"PLAINTEXT://127.0.0.1:{ports[0]},SSL://127.0.0.1:{ports[1]}"
    try:
        node.start()
        yield Served(node.pid, f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}")
    finally:
        node.close()


@contextmanager
def apache_kafka(folder: Path, keystore: Mapping[str, str]) -> Iterator[Served]:
    with ApacheKafka(folder, keystore, listeners={"TLS": "SSL"}) as kafka:
        yield Served(kafka.pid, kafka.bootstrap_servers, kafka.address("TLS"))


def options(served: Served, authority: Path, *, encrypted: bool) -> dict[str, str]:
    if not encrypted:
        return {"bootstrap.servers": served.plain}
    return {"bootstrap.servers": served.encrypted, "security.protocol": "SSL", "ssl.ca.location": str(authority)}


def produce(at: Mapping[str, str], topic: str, count: int) -> None:
    producer = Producer({**at, "acks": "all", "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
    for _ in range(count):
        producer.produce(topic, RECORD)
        producer.poll(0)
    if producer.flush(120):
        raise RuntimeError(f"records of {topic} were not delivered within two minutes")


def consume(at: Mapping[str, str], topic: str, count: int) -> None:
    consumer = Consumer({**at, "group.id": f"tls-{topic}", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    left, deadline = count, time.monotonic() + 120
    while left > 0:
        left -= len(consumer.consume(10_000, 1.0))
        if time.monotonic() > deadline:
            raise RuntimeError(f"{left} records of {topic} were not read within two minutes")
    consumer.close()


def connect(servers: str, authority: Path | None) -> None:
    """Connections one after the other, each with one request."""
    if authority is None:
        for _ in range(HANDSHAKES):
            with RawConnection(servers) as client:
                client.ask(ApiVersionsRequest(), 0)
        return
    host, _, port = servers.rpartition(":")
    context = ssl.create_default_context(cafile=str(authority))
    for _ in range(HANDSHAKES):
        plain = socket.create_connection((host, int(port)), 30)
        with context.wrap_socket(plain, server_hostname=host) as client:
            client.sendall(b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff")
            client.recv(4096)


def measured(served: Served, work: Callable[[], None]) -> tuple[float, float]:
    """The broker's CPU seconds, and the elapsed seconds, while ``work`` runs."""
    cpu, clock = limits.cpu_s(served.pid), time.perf_counter()
    work()
    return limits.cpu_s(served.pid) - cpu, time.perf_counter() - clock


def measure(name: str, served: Served, authority: Path, megabytes: int) -> None:
    count = megabytes * 1000
    for encrypted in (False, True):  # a warm-up, so that neither measurement includes compilation and first imports
        produce(options(served, authority, encrypted=encrypted), f"warm-{encrypted}", 20_000)
        consume(options(served, authority, encrypted=encrypted), f"warm-{encrypted}", 20_000)
        connect(served.encrypted if encrypted else served.plain, authority if encrypted else None)
    for encrypted in (False, True):
        at, topic = options(served, authority, encrypted=encrypted), f"measured-{encrypted}"
        into = measured(served, lambda at=at, topic=topic: produce(at, topic, count))  # type: ignore[misc]
        out = measured(served, lambda at=at, topic=topic: consume(at, topic, count))  # type: ignore[misc]
        servers = served.encrypted if encrypted else served.plain
        made = measured(served, lambda to=servers, by=authority if encrypted else None: connect(to, by))  # type: ignore[misc]
        figures = [f"{name:<13}{'TLS 1.3' if encrypted else 'plain':<8}"]
        for what, (cpu, clock) in (("produce", into), ("consume", out)):
            figures.append(f"{what} {cpu / megabytes * 1000:6.2f} ms CPU/MB {megabytes / clock:6.0f} MB/s")
        figures.append(f"connect {made[0] / HANDSHAKES * 1000:5.2f} ms CPU")
        print(" | ".join(figures), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tls", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--only", choices=["oncelog", "kafka"])
    chosen = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="oncelog-tls-"))
    authority = Authority(folder)
    keystore = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(authority.issue("server").store)}
    try:
        for name, start in (("oncelog", ours), ("Apache Kafka", apache_kafka)):
            if chosen.only is None or chosen.only in name.lower():
                with start(folder / name.replace(" ", "-"), keystore) as served:
                    measure(name, served, authority.certificate, chosen.megabytes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
