"""``oncelog promote``: Apache Kafka starts on a folder that we wrote, and nothing is lost on the way.

Before, on our broker: committed, aborted, open and overdue transactions of both protocol generations, an idempotent
producer in the middle of its sequences, offsets pending in a transaction, a compacted topic, settings, a SCRAM
credential. After, on Apache Kafka: every reader sees the same, and each producer continues where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from oncelog import Producer
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, new_pid
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.promote.folders import promoted_of
from tests.integration.cli.conftest import call
from tests.support.apache_kafka import ApacheKafka, kafka_jars, run_tool
from tests.support.crash_rounds.node import ServeProcess

pytestmark = pytest.mark.kafka

SEGMENT_BYTES = 1 << 20
VALUE = bytes(64 * 1024)
NEVER_MS = 900_000
READ_ORDERS = AclBinding(
    ResourceType.TOPIC,
    "orders",
    ResourcePatternType.LITERAL,
    "User:ada",
    "*",
    AclOperation.READ,
    AclPermissionType.ALLOW,
)
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass
class Before:
    """What a client of our broker knew when the broker was stopped."""

    data: Path
    digest: dict[str, str]
    values: dict[str, list[bytes | None]]
    ends: dict[str, int]
    idempotent: tuple[int, int]
    """Producer id, and the sequence of its last batch."""
    producers: dict[str, RawTransactionalProducer]
    settings: dict[str, str] = field(default_factory=dict)


SETTINGS = {
    "auto.create.topics.enable": "false",
    "authorizer.class.name": AUTHORIZER,
    "super.users": "User:ANONYMOUS",
}


def write(node: ServeProcess) -> Before:
    servers = node.bootstrap_servers
    connection = RawConnection(servers)
    connection.create_topic("orders", 2, segment_bytes=SEGMENT_BYTES, retention_ms=-1)
    connection.create_topic("table", cleanup_policy="compact")
    for number in range(40):
        assert connection.produce("orders", batch(b"%d" % number + VALUE)).error == 0
        assert connection.produce("table", batch(b"%d" % number, key=b"%d" % (number % 3))).error == 0
    pid = new_pid(connection)
    for sequence in range(7):
        sent = connection.produce("orders", batch(b"i%d" % sequence, pid=pid, epoch=0, sequence=sequence), 1)
        assert sent.error == 0
    producers = {
        name: RawTransactionalProducer(connection, name, version_2=name.endswith("2"), timeout_ms=timeout_ms).init()
        for name, timeout_ms in (
            ("ended-1", NEVER_MS),
            ("ended-2", NEVER_MS),
            ("open-1", NEVER_MS),
            ("open-2", NEVER_MS),
        )
    }
    for name in ("ended-1", "ended-2"):
        producers[name].send("orders", name.encode() + b" committed", partition=1)
        producers[name].commit()
        producers[name].send("orders", name.encode() + b" aborted", partition=1)
        producers[name].abort()
    producers["open-1"].send("orders", b"open-1", partition=1)
    producers["open-1"].send_offsets("pending", {("orders", 0): 11})
    producers["open-2"].send("orders", b"open-2")
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_acls([READ_ORDERS])[READ_ORDERS].result(120)
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    admin.alter_user_scram_credentials([UserScramCredentialUpsertion("ada", credential, b"secret")])["ada"].result(120)
    places = (("orders", 0), ("orders", 1), ("table", 0))
    return Before(
        data=node.data,
        digest={},
        values={f"{topic}-{p}": connection.read_committed(topic, 0, p) for topic, p in places},
        ends={f"{topic}-{p}": connection.list_offset(topic, -1, p).offset for topic, p in places},
        idempotent=(pid, 6),
        producers=producers,
    )


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module", params=[pytest.param("stopped", marks=pytest.mark.soak), "killed"])
def before(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Before]:
    node = ServeProcess(tmp_path_factory.mktemp("broker"), SETTINGS)
    try:
        node.start()
        found = write(node)
        if request.param == "stopped":
            node.stop()
        else:
            node.kill()
        found.digest = digests(node.data)
        yield found
    finally:
        if node._process is not None:
            node.close()


@pytest.fixture(scope="module")
def kafka(before: Before, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """Apache Kafka on the folder that ``promote`` made."""
    folder = tmp_path_factory.mktemp("kafka")
    node = ApacheKafka(folder)
    done = promote(before.data, folder / "node", "--listen", node.bootstrap_servers, "--controller", node.controller)
    assert done["records_read_by_kafka"] == done["records"]
    clean = done["clean_shutdown"]  # else nothing is below a recovery point yet
    assert (done["linked_bytes"] > SEGMENT_BYTES) == clean
    try:
        yield node.start_promoted(folder / "node")
    finally:
        node.stop()


def promote(data: Path, target: Path, *words: str) -> dict[str, Any]:
    outcome = call("promote", str(data), "--to", str(target), "--kafka", str(kafka_jars()), "--json", *words)
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def wait_for_leader(connection: RawConnection, topic: str, partition: int) -> None:
    """Wait until the node that just started leads the partition for every request."""
    eventually(lambda: connection.fetch(topic, 0, partition).error == 0)
    eventually(lambda: connection.list_offset(topic, -1, partition).error_code == 0)


def test_the_data_folder_stays_unchanged_and_kafka_shows_the_same_topics(before: Before, kafka: ApacheKafka) -> None:
    connection = RawConnection(kafka.bootstrap_servers)
    for name, values in before.values.items():
        topic, _, partition = name.rpartition("-")
        wait_for_leader(connection, topic, int(partition))
        assert connection.read_committed(topic, 0, int(partition)) == values, name
        assert connection.list_offset(topic, -1, int(partition)).offset == before.ends[name], name
    # the closed segments are shared: Kafka only reads them
    assert digests(before.data) == before.digest


def features(node: ApacheKafka) -> dict[str, str]:
    """The finalized level of each feature that is not 0, as Kafka's tool shows it."""
    shown = node.run_tool(
        "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", node.bootstrap_servers, "describe"
    )
    found = dict(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", shown))
    return {name: level for name, level in found.items() if level != "0"}


def test_kafka_starts_with_the_features_of_its_release(kafka: ApacheKafka) -> None:
    expected = {"metadata.version": "4.4-IV2", "group.version": "1", "transaction.version": "2", "share.version": "2"}
    assert expected.items() <= features(kafka).items()
    assert "eligible.leader.replicas.version" not in features(kafka)


@pytest.mark.soak
def test_an_older_kafka_starts_on_a_folder_promoted_for_its_release(before: Before, tmp_path: Path) -> None:
    node = ApacheKafka(tmp_path, version="4.3.1")
    words = ("--listen", node.bootstrap_servers, "--controller", node.controller, "--for", "4.3")
    promote(before.data, tmp_path / "node", *words)
    node.start_promoted(tmp_path / "node")
    try:
        assert features(node)["metadata.version"] == "4.3-IV0"
        connection = RawConnection(node.bootstrap_servers)
        wait_for_leader(connection, "orders", 1)
        assert connection.list_offset("orders", -1, 1).offset == before.ends["orders-1"]
    finally:
        node.stop()


def test_promoted_kafka_keeps_settings_and_credentials(before: Before, kafka: ApacheKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    resource = ConfigResource(ConfigResource.Type.TOPIC, "orders")
    settings = admin.describe_configs([resource])[resource].result(120)
    assert settings["segment.bytes"].value == str(SEGMENT_BYTES)
    assert settings["retention.ms"].value == "-1"
    credentials: Any = admin.describe_user_scram_credentials(["ada"])
    described = credentials["ada"].result(120)
    assert [(info.mechanism, info.iterations) for info in described.scram_credential_infos] == [
        (ScramMechanism.SCRAM_SHA_256, 8192)
    ]


def test_after_a_promotion_producers_continue_and_a_repeated_batch_is_recognised(
    before: Before, kafka: ApacheKafka
) -> None:
    connection = RawConnection(kafka.bootstrap_servers)
    pid, last = before.idempotent
    wait_for_leader(connection, "orders", 1)
    end = connection.list_offset("orders", -1, 1).offset
    repeated = connection.produce("orders", batch(b"i6", pid=pid, epoch=0, sequence=last), 1)
    assert (repeated.error, connection.list_offset("orders", -1, 1).offset) == (0, end)
    gap = connection.produce("orders", batch(b"i9", pid=pid, epoch=0, sequence=last + 3), 1)
    assert gap.error == 45
    following = connection.produce("orders", batch(b"i7", pid=pid, epoch=0, sequence=last + 1), 1)
    assert (following.error, following.base_offset) == (0, end)
    known = {before.idempotent[0]} | {producer.pid for producer in before.producers.values()}
    assert new_pid(connection) > max(known)


@pytest.mark.parametrize("name", ["open-1", "open-2"])
def test_a_producer_commits_its_open_transaction_after_the_promotion(
    name: str, before: Before, kafka: ApacheKafka
) -> None:
    known = before.producers[name]
    producer = RawTransactionalProducer(
        RawConnection(kafka.bootstrap_servers), name, version_2=known.version_2, timeout_ms=NEVER_MS
    )
    producer.pid, producer.epoch, producer.sequences = known.pid, known.epoch, known.sequences
    assert eventually(lambda: producer.describe().transaction_state) == "Ongoing"
    topic, partition = ("orders", 1) if name == "open-1" else ("orders", 0)
    producer.send(topic, name.encode() + b" goes on", partition=partition)
    producer.commit()
    values = producer.connection.read_committed(topic, 0, partition)
    assert {name.encode(), name.encode() + b" goes on"} <= set(values)
    assert not [value for value in values if value and value.endswith(b"aborted")]


def test_an_expired_transaction_is_reported_before_the_promotion(tmp_path: Path) -> None:
    node = ServeProcess(tmp_path, {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "600000"})
    node.start()
    try:
        connection = RawConnection(node.bootstrap_servers)
        connection.create_topic("t")
        producer = RawTransactionalProducer(connection, "late", timeout_ms=1).init()
        producer.send("t", b"x")
        assert "in use by a broker" in call("promote", str(node.data), "--to", str(tmp_path / "k")).err
    finally:
        node.close()
    outcome = call("promote", str(node.data), "--to", str(tmp_path / "k"), "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "open transaction: late, Ongoing" in outcome.out
    assert "Kafka aborts it when it starts" in outcome.out
    assert "not stopped cleanly" in outcome.out
    assert not (tmp_path / "k").exists()


def test_a_prepared_transaction_is_reported_and_only_a_producer_of_its_epoch_can_end_it_in_kafka(
    tmp_path: Path,
) -> None:
    """Kafka has no timeout for it, and no later producer can end it; only the holder of its producer id and epoch
    can."""
    node = ServeProcess(tmp_path, {"transaction.two.phase.commit.enable": "true"})
    node.start()
    try:
        tokens = {}
        for name in ("prepared", "kept"):
            with Producer(
                bootstrap_servers=node.bootstrap_servers, transactional_id=name, two_phase_commit=True
            ) as producer:
                producer.begin_transaction()
                producer.send(name, name.encode())
                tokens[name] = producer.prepare()
        with Producer(
            bootstrap_servers=node.bootstrap_servers, transactional_id="kept", two_phase_commit=True
        ) as later:
            assert later.prepared == tokens["kept"]
    finally:
        node.close()
    kafka = ApacheKafka(tmp_path / "kafka")
    to_it = ("--listen", kafka.bootstrap_servers, "--controller", kafka.controller)
    reported = call("promote", str(node.data), "--to", str(tmp_path / "k"), *to_it, "--dry-run").out
    for name, token in tokens.items():
        assert f"open transaction: {name}, Ongoing" in reported
        assert f"token {token}: Kafka keeps it" in reported
    promote(node.data, tmp_path / "k", *to_it)
    try:
        kafka.start_promoted(tmp_path / "k")
        connection = RawConnection(kafka.bootstrap_servers)
        for name, token in tokens.items():
            wait_for_leader(connection, name, 0)
            assert connection.read_committed(name) == []
            owner = RawTransactionalProducer(connection, name, version_2=True)
            assert eventually(partial(lambda it: it.describe().transaction_state, owner)) == "Ongoing"
            assert owner.describe().transaction_timeout_ms == 2**31 - 1
            owner.pid, owner.epoch = map(int, token.split(":"))
            owner.commit()
            assert connection.read_committed(name) == [name.encode()]
    finally:
        kafka.stop()


def _wait_for_files(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    def there() -> int:
        """``os.walk`` skips files that are renamed while it looks."""
        return sum(len(files) for _, _, files in os.walk(folder))

    eventually(lambda: process.poll() is not None or there() >= count or None)


def test_a_killed_promotion_leaves_the_data_folder_intact(before: Before, tmp_path: Path) -> None:
    source = tmp_path / "data"
    shutil.copytree(before.data, source)
    whole = digests(source)
    command = [sys.executable, "-m", "oncelog", "promote", str(source), "--to", str(tmp_path / "k"), "--move"]
    for after_files in (1, 40, 100):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        partial = tmp_path / "k.partial"
        _wait_for_files(process, partial, after_files)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if not (tmp_path / "k").exists():
            assert digests(source) == whole
            continue
        if promoted_of(source).exists():
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            assert not promoted_of(source).exists()
        shutil.rmtree(tmp_path / "k")
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(before.data, source)
    assert promote(source, tmp_path / "k", "--move")["done"]
    assert not source.exists()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda target: target.mkdir() or (target / "x").touch(), "is not an empty folder"),
        (lambda target: target.touch(), "is not an empty folder"),
    ],
)
def test_a_target_folder_that_is_not_empty_is_refused(
    make: Any, complaint: str, before: Before, tmp_path: Path
) -> None:
    make(tmp_path / "k")
    outcome = call("promote", str(before.data), "--to", str(tmp_path / "k"))
    assert (outcome.code, complaint in outcome.err) == (1, True), outcome.err


def test_acls_are_promoted(before: Before, tmp_path: Path) -> None:
    """Kafka's own tool reads them in the new metadata."""
    done = promote(before.data, tmp_path / "k")
    shown = run_tool(
        "org.apache.kafka.tools.DumpLogSegments",
        "--cluster-metadata-decoder",
        "--files",
        str(tmp_path / "k" / "__cluster_metadata-0" / done["snapshot"]),
    )
    (entry,) = (line for line in shown.splitlines() if "ACCESS_CONTROL_ENTRY_RECORD" in line)
    assert '"principal":"User:ada"' in entry
    assert '"resourceName":"orders"' in entry


def test_security_settings_are_dropped_only_on_request(before: Before, tmp_path: Path) -> None:
    words = ("promote", str(before.data), "--to", str(tmp_path / "k"), "--set", f"authorizer.class.name={AUTHORIZER}")
    reported = call(*words, "--dry-run")
    assert (reported.code, "the node logs in to itself as User:node-" in reported.out) == (0, True), reported.err
    reported = call(*words, "--plain", "--dry-run")
    assert (reported.code, "setting not taken over: authorizer.class.name" in reported.out) == (0, True), reported.err
    assert "the node logs in" not in reported.out


def test_a_folder_without_metadata_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    outcome = call("promote", str(tmp_path / "data"), "--to", str(tmp_path / "k"))
    assert (outcome.code, "is not a data folder of oncelog" in outcome.err) == (1, True)
