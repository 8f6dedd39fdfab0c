"""One properties file with listeners, TLS, logins, ACLs and limits starts our broker and Apache Kafka, unchanged.

Clients also use the same settings for both, and both admit and refuse the same ones.
"""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from oncelog.apps.conformance.expect import eventually
from tests.integration.security.certificates import Authority
from tests.support.apache_kafka import CLUSTER_ID, ApacheKafka, run_tool
from tests.support.free_ports import free_ports

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

PASSWORD = "alice-secret"
SCRAM = f"SCRAM-SHA-512=[name=alice,password={PASSWORD}]"
FILE = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{plain},CONTROLLER://{controller},SASL_SSL://{logins},CERTIFIED://{certified}
advertised.listeners=PLAINTEXT://{plain},SASL_SSL://{logins},CERTIFIED://{certified}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,CERTIFIED:SSL
inter.broker.listener.name=PLAINTEXT
log.dirs={folder}/kafka
# Encryption
ssl.protocol=TLSv1.3
ssl.enabled.protocols=TLSv1.3
listener.name.certified.ssl.enabled.protocols=TLSv1.2,TLSv1.1
listener.name.certified.ssl.client.auth=required
ssl.keystore.type=PEM
ssl.keystore.location={store}
ssl.truststore.type=PEM
ssl.truststore.location={authority}
ssl.principal.mapping.rules=RULE:^CN=([^,]+),OU=people.*$/$1/L,DEFAULT
# Logins
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
    user_bob="bob-secret" ;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
connections.max.reauth.ms=3600000
# Rights
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:alice;User:carol
allow.everyone.if.no.acl.found=false
# Limits
max.connections=1000
max.connections.per.ip=200
max.connections.per.ip.overrides=127.0.0.1:500
max.connection.creation.rate=1000
queued.max.request.bytes=200000000
quota.window.num=11
num.partitions=2
default.replication.factor=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.hours=24
log.segment.bytes=104857600
compression.type=producer
"""


@contextmanager
def ours(config: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "oncelog", "serve", "--json", "--config", str(config)]
    command += ["--data", str(config.parent / "ours"), "--add-scram", SCRAM]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["listening"]
        yield
    finally:
        process.terminate()
        process.communicate(timeout=300)


@contextmanager
def kafka(config: Path) -> Iterator[None]:
    format_it = ("format", "-t", CLUSTER_ID, "-c", str(config), "--add-scram", SCRAM)
    run_tool("kafka.tools.StorageTool", *format_it)
    node = ApacheKafka(config.parent / "node")
    node.start_promoted(config.parent, answers=lambda: listens(config))
    try:
        yield
    finally:
        node.close()


def listens(config: Path) -> bool:
    lines = dict(line.split("=", 1) for line in config.read_text().splitlines() if "=" in line)
    host, _, port = lines["advertised.listeners"].split(",")[0].removeprefix("PLAINTEXT://").rpartition(":")
    with socket.socket() as plain:
        return plain.connect_ex((host, int(port))) == 0


def version(address: str, authority: Authority, chosen: ssl.TLSVersion) -> str | None:
    """The TLS version that a client without a certificate agrees on if it has only that one; None if it is refused."""
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.minimum_version = context.maximum_version = chosen
    host, _, port = address.rpartition(":")
    try:
        with (
            socket.create_connection((host, int(port)), 60) as plain,
            context.wrap_socket(plain, server_hostname=host) as encrypted,
        ):
            return encrypted.version()
    except ssl.SSLError:
        return None


@pytest.mark.parametrize("side", [ours, kafka])
def test_one_properties_file_starts_kafka_and_oncelog(side: object, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    carol = authority.issue("carol", "CN=Carol,OU=people,O=example")
    places = dict(zip(("plain", "controller", "logins", "certified"), free_ports(4), strict=True))
    addresses = {name: f"127.0.0.1:{port}" for name, port in places.items()}
    store = authority.issue("server").store
    config = tmp_path / "server.properties"
    config.write_text(FILE.format(**addresses, folder=tmp_path, store=store, authority=authority.certificate))
    trust = {"ssl.ca.location": str(authority.certificate)}
    ways = {
        "alice": {
            "bootstrap.servers": addresses["logins"],
            "security.protocol": "SASL_SSL",
            **trust,
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "alice",
            "sasl.password": PASSWORD,
        },
        "carol": {
            "bootstrap.servers": addresses["certified"],
            "security.protocol": "SSL",
            **trust,
            "ssl.certificate.location": str(carol.certificate),
            "ssl.key.location": str(carol.key),
        },
        "bob": {
            "bootstrap.servers": addresses["logins"],
            "security.protocol": "SASL_SSL",
            **trust,
            "sasl.mechanism": "PLAIN",
            "sasl.username": "bob",
            "sasl.password": "bob-secret",
        },
    }
    with side(config):  # type: ignore[operator]
        for name in ("alice", "carol"):
            producer = Producer(ways[name])
            producer.produce("t", name.encode())
            assert producer.flush(60) == 0, name
        found: set[bytes] = set()
        consumer = Consumer({**ways["carol"], "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        eventually(lambda: found.update(m.value() or b"" for m in consumer.consume(10, 0.5)) or len(found) == 2)
        consumer.close()
        refused: list[str] = []
        stranger = Producer({**ways["bob"], "message.timeout.ms": 60_000})
        stranger.produce("t", b"no", on_delivery=lambda error, _: refused.append(error.name() if error else ""))
        assert stranger.flush(90) == 0
        assert refused == ["TOPIC_AUTHORIZATION_FAILED"]
        assert version(addresses["logins"], authority, ssl.TLSVersion.TLSv1_2) is None
        assert version(addresses["logins"], authority, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
        assert version(addresses["certified"], authority, ssl.TLSVersion.TLSv1_3) is None
