"""Unmodified clients over TLS and SCRAM: each writes transactions and reads them back as an ordinary user.

The user has the rights it needs and no more, so every flow also passes the authorizer. One broker serves them all.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from pyspark.sql import SparkSession

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.client import blocking
from oncelog.client.aio import Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.client.core.config import AdminConfig, ConsumerConfig, ProducerConfig
from oncelog.client.errors import TopicAuthorizationFailedError
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from oncelog.spark.maven import spark_connector_jars
from tests.compatibility.interop.clients.java_programs import start_program
from tests.integration.cli.conftest import call
from tests.integration.security.certificates import Authority

ADMIN, ALICE = "admin-secret", "alice-secret"
MECHANISM = "SCRAM-SHA-512"
COMMITTED = [b"kept-%d" % number for number in range(50)]
FIRST_USERS = [f"{MECHANISM}=[name=admin,password={ADMIN}]", f"{MECHANISM}=[name=alice,password={ALICE}]"]


class Secured:
    """A broker that requires SCRAM over TLS, and how to reach it."""

    def __init__(self, broker: oncelog.Broker, authority: Authority, folder: Path) -> None:
        self.servers = broker.bootstrap_servers
        self.authority = str(authority.certificate)
        self._folder = folder
        self.admin_file = self.write("admin.properties", "admin", ADMIN)
        self.alice_file = self.write("alice.properties", "alice", ALICE)

    def properties(self, user: str, password: str) -> dict[str, str]:
        """In the form of Java's clients."""
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "bootstrap.servers": self.servers,
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.authority,
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        }

    def write(self, name: str, user: str, password: str) -> Path:
        """A client's properties file."""
        path = self._folder / name
        path.write_text("".join(f"{name}={value}\n" for name, value in self.properties(user, password).items()))
        return path

    def librdkafka(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self.servers,
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": self.authority,
            "sasl.mechanism": MECHANISM,
            "sasl.username": "alice",
            "sasl.password": ALICE,
        }

    def python(self) -> dict[str, Any]:
        """With the names of aiokafka and kafka-python."""
        return {
            "bootstrap_servers": self.servers,
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": MECHANISM,
            "sasl_plain_username": "alice",
            "sasl_plain_password": ALICE,
        }

    def committed(self, topic: str) -> list[bytes]:
        """What the admin's ``read_committed`` reader finds."""
        properties = self.properties("admin", ADMIN) | {"isolation.level": "read_committed"}
        properties |= {"auto.offset.reset": "earliest", "group.id": f"check-{topic}"}
        found: list[bytes] = []
        with blocking.Consumer(topic, config=ConsumerConfig.from_properties(properties)) as consumer:
            eventually(lambda: found.extend(_values(consumer.getmany(timeout_ms=200))) or len(found) >= len(COMMITTED))
        return found


def _values(batches: Any) -> list[bytes]:
    return [record.value for batch in batches.values() for record in batch]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    authority = Authority(folder)
    settings = {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": authority.issue("server").store,
        "sasl.enabled.mechanisms": MECHANISM,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
        "group.initial.rebalance.delay.ms": 0,
    }
    with oncelog.Broker(folder / "data", settings=settings, first_users=FIRST_USERS) as broker:
        found = Secured(broker, authority, folder)
        with blocking.Admin(config=AdminConfig.from_properties(found.properties("admin", ADMIN))) as admin:
            admin.create_acls(
                [
                    Acl(kind, name, PatternType.PREFIXED, "User:alice", "*", operation, Permission.ALLOW)
                    for kind, name, operation in [
                        (AclResourceType.TOPIC, "t-", Operation.ALL),
                        (AclResourceType.GROUP, "t-", Operation.READ),
                        (AclResourceType.TRANSACTIONAL_ID, "t-", Operation.ALL),
                        # the sink's names of its own
                        (AclResourceType.GROUP, "oncelog-", Operation.READ),
                        (AclResourceType.TRANSACTIONAL_ID, "oncelog-", Operation.ALL),
                    ]
                ]
            )
        yield found


# --- Python clients


def test_confluent_kafka_logs_in(secured: Secured, unique_name: str) -> None:
    producer = confluent_kafka.Producer({**secured.librdkafka(), "transactional.id": unique_name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(unique_name, b"aborted")
    producer.flush(60)
    producer.abort_transaction(60)
    producer.begin_transaction()
    for value in COMMITTED:
        producer.produce(unique_name, value)
    producer.commit_transaction(60)
    consumer = confluent_kafka.Consumer(
        {**secured.librdkafka(), "group.id": unique_name, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([unique_name])
    found: list[bytes | None] = []
    eventually(lambda: found.extend(one.value() for one in consumer.consume(100, 0.2)) or len(found) >= 50, 60)
    consumer.commit(asynchronous=False)
    consumer.close()
    assert found == COMMITTED


def test_aiokafka_logs_in(secured: Secured, unique_name: str) -> None:
    asked = secured.python() | {"ssl_context": ssl.create_default_context(cafile=secured.authority)}

    async def flow() -> list[bytes]:
        async with aiokafka.AIOKafkaProducer(**asked, transactional_id=unique_name) as producer:
            await producer.begin_transaction()
            await producer.send_and_wait(unique_name, b"aborted")
            await producer.abort_transaction()
            async with producer.transaction():
                for value in COMMITTED:
                    await producer.send(unique_name, value)
        settings = {"group_id": unique_name, "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        found: list[bytes] = []
        async with aiokafka.AIOKafkaConsumer(unique_name, **asked, **settings) as consumer:
            while len(found) < len(COMMITTED):
                found += _values(await consumer.getmany(timeout_ms=200))
            await consumer.commit()
        return found

    assert asyncio.run(asyncio.wait_for(flow(), 60)) == COMMITTED


def test_kafka_python_logs_in(secured: Secured, unique_name: str) -> None:
    asked = secured.python() | {"ssl_cafile": secured.authority}
    producer = kafka.KafkaProducer(**asked, transactional_id=unique_name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(unique_name, b"aborted").get(60)
    producer.abort_transaction()
    producer.begin_transaction()
    for value in COMMITTED:
        producer.send(unique_name, value)
    producer.commit_transaction()
    producer.close(5)
    settings = {"group_id": unique_name, "auto_offset_reset": "earliest", "isolation_level": "read_committed"}
    consumer = kafka.KafkaConsumer(**asked, **settings)
    consumer.partitions_for_topic(unique_name)
    consumer.subscribe([unique_name])
    found: list[bytes] = []
    # If SyncGroup takes longer than a poll, kafka-python delivers records but refuses to commit, on Apache Kafka too.
    eventually(lambda: found.extend(_values(consumer.poll(timeout_ms=10_000))) or len(found) >= len(COMMITTED), 60)
    consumer.commit()
    consumer.close(autocommit=False)
    assert found == COMMITTED


def test_our_client_logs_in(secured: Secured, unique_name: str) -> None:
    properties = secured.properties("alice", ALICE)

    async def flow() -> list[bytes]:
        sending = ProducerConfig.from_properties(properties | {"transactional.id": unique_name})
        async with Producer(config=sending) as producer:
            await producer.begin_transaction()
            await producer.send_and_wait(unique_name, b"aborted")
            await producer.abort_transaction()
            async with producer.transaction():
                for value in COMMITTED:
                    await producer.send(unique_name, value)
        reading = {"group.id": unique_name, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        found: list[bytes] = []
        async with Consumer(unique_name, config=ConsumerConfig.from_properties(properties | reading)) as consumer:
            while len(found) < len(COMMITTED):
                found += _values(await consumer.getmany(timeout_ms=200))
            await consumer.commit()
        return found

    assert asyncio.run(asyncio.wait_for(flow(), 60)) == COMMITTED


def test_our_blocking_client_logs_in(secured: Secured, unique_name: str) -> None:
    properties = secured.properties("alice", ALICE) | {"transactional.id": unique_name}
    with blocking.Producer(config=ProducerConfig.from_properties(properties)) as producer, producer.transaction():
        for value in COMMITTED:
            producer.send(unique_name, value)
    assert secured.committed(unique_name) == COMMITTED


# --- commands


def test_our_commands_accept_a_java_properties_file(secured: Secured, unique_name: str) -> None:
    def run(file: Path, *words: str, stdin: bytes = b"") -> Any:
        return call(*words, "--config", file, stdin=stdin)

    run(secured.alice_file, "topics", "create", unique_name, "--partitions", "1").done()
    lines = b"".join(value + b"\n" for value in COMMITTED)
    transactional = ("--transactional-id", unique_name)
    run(secured.alice_file, "produce", "--topic", unique_name, *transactional, stdin=lines).done()
    read = ("consume", "--topic", unique_name, "--from-beginning", "--max-messages", "50")
    assert run(secured.alice_file, *read, "--group", unique_name).done().out.encode() == lines

    assert "may not" not in run(secured.admin_file, "acls", "list").done().out
    assert "CLUSTER_AUTHORIZATION_FAILED" in run(secured.alice_file, "acls", "list").sentence()
    assert "CLUSTER_AUTHORIZATION_FAILED" in run(secured.alice_file, "users", "list").sentence()
    assert [row["user"] for row in run(secured.admin_file, "users", "list", "--json").done().json] == ["admin", "alice"]


# --- Java


Tool = Callable[..., str]
"""Runs one of Apache Kafka's tools, given its class, arguments and input; returns its output."""


@pytest.fixture(scope="module")
def tool(secured: Secured, tmp_path_factory: pytest.TempPathFactory, kafka_jars: Path) -> Iterator[Tool]:
    """All of them in one JVM."""
    process = start_program("ToolShell.java", folder=tmp_path_factory.mktemp("tools"), stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stderr is not None
    stdin, stderr = process.stdin, process.stderr

    def run(name: str, *arguments: object, given: str = "") -> str:
        words = ["--bootstrap-server", secured.servers, *map(str, arguments)]
        class_name = name if name.startswith("kafka.") else f"org.apache.kafka.tools.{name}"
        stdin.write(json.dumps({"class": class_name, "arguments": words, "input": given}) + "\n")
        stdin.flush()
        line = stderr.readline()
        answer = json.loads(line) if line.startswith("{") else {"status": -1, "output": line + stderr.read()}
        assert answer["status"] == 0, answer["output"]
        return str(answer["output"])

    try:
        yield run
    finally:
        process.kill()
        process.communicate()


@pytest.mark.kafka
def test_javas_console_tools_log_in(secured: Secured, unique_name: str, tool: Tool) -> None:
    alice, admin = secured.alice_file, secured.admin_file
    tool("TopicCommand", "--command-config", alice, "--create", "--topic", unique_name, "--partitions", 1)
    lines = "".join(f"{value.decode()}\n" for value in COMMITTED)
    tool("ConsoleProducer", "--topic", unique_name, "--command-config", alice, given=lines)
    read = ("--topic", unique_name, "--from-beginning", "--max-messages", 50, "--group", unique_name)
    # Java's own threads write to standard output too
    out = tool("consumer.ConsoleConsumer", *read, "--command-config", alice, "--timeout-ms", 60_000)
    assert [line for line in out.splitlines() if line.startswith("kept-")] == lines.splitlines()

    measured = ("--topic", unique_name, "--num-records", 100, "--record-size", 10, "--throughput", -1)
    transactions = ("--transactional-id", unique_name, "--transaction-duration-ms", 50)
    out = tool("ProducerPerformance", *measured, *transactions, "--command-config", alice)
    assert "100 records sent" in out
    offsets = tool("GetOffsetShell", "--topic", unique_name, "--command-config", admin)
    assert int(offsets.split(":")[-1]) > 150, "records and at least one marker"


@pytest.mark.kafka
def test_kafka_acls_manages_acls(secured: Secured, unique_name: str, tool: Tool) -> None:
    def acls(*words: str) -> str:
        return tool("AclCommand", "--command-config", secured.admin_file, *words)

    added = ("--allow-principal", "User:bob", "--operation", "Read", "--operation", "Describe")
    denied = ("--deny-principal", "User:eve", "--deny-host", "10.0.0.7", "--operation", "All")
    literal = ("--topic", unique_name)
    prefixed = ("--group", unique_name, "--resource-pattern-type", "prefixed")
    assert "User:bob" in acls("--add", *added, *literal)
    acls("--add", *denied, *prefixed)
    shown = acls("--list", *literal)
    assert f"ResourcePattern(resourceType=TOPIC, name={unique_name}, patternType=LITERAL)" in shown
    for operation in ("READ", "DESCRIBE"):
        assert f"(principal=User:bob, host=*, operation={operation}, permissionType=ALLOW)" in shown
    shown = acls("--list", *prefixed)
    assert f"ResourcePattern(resourceType=GROUP, name={unique_name}, patternType=PREFIXED)" in shown
    assert "(principal=User:eve, host=10.0.0.7, operation=ALL, permissionType=DENY)" in shown
    assert "User:eve" not in acls("--list", "--principal", "User:bob")
    rows = call("acls", "list", "--topic", unique_name, "--json", "--config", secured.admin_file).done().json
    assert sorted(row["operation"] for row in rows if row["principal"] == "User:bob") == ["describe", "read"]

    acls("--remove", "--force", "--allow-principal", "User:bob", "--operation", "Read", *literal)
    assert "operation=READ" not in acls("--list", *literal)
    assert "operation=DESCRIBE" in acls("--list", *literal)
    acls("--remove", "--force", *literal)
    acls("--remove", "--force", *prefixed)
    assert unique_name not in acls("--list")


@pytest.mark.kafka
def test_kafka_configs_manages_users(secured: Secured, unique_name: str, tool: Tool) -> None:
    password = f"password-of-{unique_name}"
    user = ("--entity-type", "users", "--entity-name", unique_name)

    def configs(*words: str) -> str:
        return tool("ConfigCommand", "--command-config", secured.admin_file, *words)

    for setting in (f"SCRAM-SHA-256=[iterations=8192,password={password}]", f"{MECHANISM}=[password={password}]"):
        # One at a time: Apache Kafka 4.4.0 refuses both at once, too
        done = configs("--alter", *user, "--add-config", setting)
        assert f"Completed updating config for user {unique_name}." in done
        assert password not in done
    described = configs("--describe", *user)
    expected = "are SCRAM-SHA-256=iterations=8192, SCRAM-SHA-512=iterations=4096"
    assert f"SCRAM credential configs for user-principal '{unique_name}' {expected}" in described
    assert password not in described
    file = secured.write(f"{unique_name}.properties", unique_name, password)
    assert "CLUSTER_AUTHORIZATION_FAILED" in call("users", "list", "--config", file).sentence(), "the login passes"

    for mechanism in ("SCRAM-SHA-256", MECHANISM):
        configs("--alter", *user, "--delete-config", mechanism)
    assert unique_name not in configs("--describe", "--entity-type", "users")
    assert "SASL" in call("users", "list", "--config", file).sentence()


# --- Spark


@pytest.mark.spark
def test_our_source_and_sink_log_in(secured: Secured, spark: SparkSession, unique_name: str, tmp_path: Path) -> None:
    properties = secured.properties("alice", ALICE)
    options = {f"kafka.{name}": value for name, value in properties.items()}
    copy = f"{unique_name}-copy"
    with blocking.Producer(config=ProducerConfig.from_properties(properties)) as producer:
        for value in COMMITTED:
            producer.send(unique_name, value)
    stream = spark.readStream.format("oncelog").options(**options, subscribe=unique_name, startingOffsets="earliest")
    sink = stream.load().select("value").writeStream.format("oncelog").options(**options, topic=copy)
    sink = sink.option("createTopics", '{"partitions": 3, "replication": 1}')
    sink = sink.option("checkpointLocation", str(tmp_path)).option("offsetsRetentionMinutes", 60)
    query = sink.trigger(availableNow=True).start()  # alice may not ask for it, and a busy machine may need a minute
    query.awaitTermination(120)
    assert query.exception() is None
    assert sorted(secured.committed(copy)) == sorted(COMMITTED)


@pytest.mark.spark
@pytest.mark.soak
def test_sparks_own_connector_logs_in(secured: Secured, unique_name: str, tmp_path: Path) -> None:
    properties = secured.properties("alice", ALICE)
    with blocking.Admin(config=AdminConfig.from_properties(properties)) as admin:
        admin.create_topics([NewTopic(unique_name, 3), NewTopic(f"{unique_name}-copy", 3)])
    login = tmp_path / "login.json"
    options = {f"kafka.{name}": value for name, value in properties.items()}
    login.write_text(json.dumps({**options, "groupIdPrefix": unique_name}))
    job = Path(__file__).parents[1] / "spark" / "source" / "connector_job.py"
    jars = ",".join(str(jar) for jar in spark_connector_jars())
    done = subprocess.run(
        [sys.executable, job, secured.servers, unique_name, tmp_path, jars, login],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["batch"] == sorted([str(number), str(number * number)] for number in range(200))
    assert seen["copied"] == sorted(str(number * number) for number in range(200))


def test_a_client_with_a_new_permission_requests_the_refused_topic_again_at_once(
    secured: Secured, unique_name: str
) -> None:
    """A client that was refused stayed so for ``metadata.max.age.ms``, although it had been given the right
    meanwhile.
    """
    config = ProducerConfig.from_properties(secured.properties("alice", ALICE))
    with (
        blocking.Admin(config=AdminConfig.from_properties(secured.properties("admin", ADMIN))) as admin,
        blocking.Producer(config=config) as producer,
    ):
        name = f"later-{unique_name}"
        admin.create_topics([NewTopic(name, 1, 1)])
        with pytest.raises(TopicAuthorizationFailedError):
            producer.send_and_wait(name, b"refused")
        right = (PatternType.LITERAL, "User:alice", "*", Operation.ALL, Permission.ALLOW)
        admin.create_acls([Acl(AclResourceType.TOPIC, name, *right)])
        assert producer.send_and_wait(name, b"taken").offset == 0
