"""Apache Kafka's command line tools, unmodified, against our broker: those that `tests/compatibility/interop/admin`
does not run.

All of them but one run in one JVM.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from oncelog import Admin, Broker
from oncelog.apps.conformance.raw.batches import batch, now_ms
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.client.core.admin.admin_types import NewTopic
from tests.compatibility.interop.clients.java_programs import start_program
from tests.integration.client.reading import values
from tests.support.apache_kafka import run_tool

pytestmark = pytest.mark.kafka

TRANSACTIONAL = 0x10
HOUR = 3_600_000
GROUP_TOOL = "consumer.group.ConsumerGroupCommand"


class Tools:
    """The tools in a JVM, on one broker."""

    def __init__(self, broker: Broker, process: subprocess.Popen[str]) -> None:
        self.servers = broker.bootstrap_servers
        assert broker.data is not None
        self.data = broker.data
        self._process = process

    def run(self, name: str, *arguments: str, stdin: str = "", connect: bool = True) -> str:
        """What the tool printed; the tool must succeed."""
        server = ("--bootstrap-server", self.servers) if connect else ()
        request = {"class": f"org.apache.kafka.tools.{name}", "arguments": [*server, *arguments], "input": stdin}
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stderr.readline())
        assert answer["status"] == 0, f"{name} ended with {answer['status']}:\n{answer['output']}"
        output: str = answer["output"]
        return output

    def make_topic(self, name: str, partitions: int = 1) -> str:
        with Admin(bootstrap_servers=self.servers) as admin:
            admin.create_topics([NewTopic(name, partitions, 1)])
        return name


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory, kafka_jars: Path) -> Iterator[Tools]:
    folder = tmp_path_factory.mktemp("tools")
    # Without verification a transaction that its coordinator does not know can be left in a partition.
    settings = {"group.initial.rebalance.delay.ms": 0, "transaction.partition.verification.enable": False}
    with Broker(folder / "data", settings=settings) as broker:
        process = start_program("ToolShell.java", folder=folder, stdin=subprocess.PIPE)
        try:
            yield Tools(broker, process)
        finally:
            process.kill()
            process.communicate()


def rows(table: str) -> list[list[str]]:
    """The cells of a table that a tool printed, the heading first."""
    return [line.split() for line in table.splitlines() if line.strip()]


def test_console_producer_and_consumer_pass_keys_and_values(tools: Tools, unique_name: str) -> None:
    topic = ("--topic", tools.make_topic(unique_name))
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    tools.run("ConsoleProducer", *topic, *keyed, "--compression-codec", "zstd", stdin="a:1\nb:2\nc:3\n")
    shown = ("--formatter-property", "print.key=true", "--formatter-property", "print.offset=true")
    read = tools.run("consumer.ConsoleConsumer", *topic, "--from-beginning", "--max-messages", "3", *shown)
    seen = [row for row in rows(read) if row[0].startswith("Offset:")]
    assert seen == [["Offset:0", "a", "1"], ["Offset:1", "b", "2"], ["Offset:2", "c", "3"]]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_are_listed_described_reset_and_deleted(tools: Tools, unique_name: str, protocol: str) -> None:
    topic = tools.make_topic(unique_name)
    tools.run("ConsoleProducer", "--topic", topic, stdin="1\n2\n3\n4\n")
    consume = ("--topic", topic, "--group", topic, "--from-beginning", "--max-messages", "4")
    tools.run("consumer.ConsoleConsumer", *consume, "--command-property", f"group.protocol={protocol}")
    tools.run("ConsoleProducer", "--topic", topic, stdin="5\n")
    assert [topic, "Empty"] in rows(tools.run(GROUP_TOOL, "--list", "--state"))
    assert [topic, protocol.title()] in rows(tools.run(GROUP_TOOL, "--list", "--type"))
    group = ("--group", topic)

    def offset_row() -> list[str]:
        table = rows(tools.run(GROUP_TOOL, "--describe", *group))
        heading = next(row for row in table if row[:2] == ["GROUP", "TOPIC"])
        (found,) = (row for row in table if row[:2] == [topic, topic])
        wanted = ("PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")
        return [found[heading.index(column)] for column in wanted]

    assert offset_row() == ["0", "4", "5", "1"]
    state = rows(tools.run(GROUP_TOOL, "--describe", *group, "--state"))
    assert "Empty" in state[-1]
    assert state[-1][0] == topic
    reset = rows(tools.run(GROUP_TOOL, "--reset-offsets", *group, "--topic", topic, "--to-offset", "2", "--execute"))
    assert reset[-1] == [topic, topic, "0", "2"]
    assert offset_row() == ["0", "2", "5", "3"]
    assert "Successful" in tools.run(GROUP_TOOL, "--delete-offsets", *group, "--topic", topic)
    tools.run(GROUP_TOOL, "--delete", *group)
    assert topic not in tools.run(GROUP_TOOL, "--list")


def test_open_transaction_is_listed_described_and_aborted(tools: Tools, unique_name: str) -> None:
    topic = tools.make_topic(unique_name)
    producer = Producer({"bootstrap.servers": tools.servers, "transactional.id": topic, "linger.ms": 0})
    producer.init_transactions(120)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(120) == 0
    (listed,) = (row for row in rows(tools.run("TransactionsCommand", "list")) if row[0] == topic)
    assert listed[-1] == "Ongoing"
    described = rows(tools.run("TransactionsCommand", "describe", "--transactional-id", topic))
    assert described[0][-1] == "TopicPartitions"
    assert dict(zip(described[0], described[1], strict=False))["TransactionState"] == "Ongoing"
    assert described[1][-1] == f"{topic}-0"
    at = ("--topic", topic, "--partition", "0")
    producers = rows(tools.run("TransactionsCommand", "describe-producers", *at))
    state = dict(zip(producers[0], producers[1], strict=True))
    assert (state["ProducerId"], state["LastSequence"], state["CurrentTransactionStartOffset"]) == (listed[2], "0", "0")
    hanging = tools.run("TransactionsCommand", "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0")
    assert topic not in hanging, "its coordinator knows it"
    tools.run("TransactionsCommand", "abort", *at, "--start-offset", "0")
    aborted = rows(tools.run("TransactionsCommand", "describe-producers", *at))
    assert dict(zip(aborted[0], aborted[1], strict=True))["CurrentTransactionStartOffset"] == "None"
    tools.run("TransactionsCommand", "forceTerminateTransaction", "--transactionalId", topic)
    assert values(tools.servers, topic) == []


def test_hanging_transaction_is_found_and_aborted(tools: Tools, unique_name: str) -> None:
    topic = tools.make_topic(unique_name)
    producer_id = 424_242
    forgotten = batch(
        b"hangs", pid=producer_id, epoch=3, sequence=0, attributes=TRANSACTIONAL, timestamp=now_ms() - HOUR
    )
    with RawConnection(tools.servers) as connection:
        assert connection.produce(topic, forgotten, transactional_id=topic).error == 0
    tools.run("ConsoleProducer", "--topic", topic, stdin="behind it\n")
    found = rows(tools.run("TransactionsCommand", "find-hanging", "--broker-id", "1"))
    (hanging,) = (dict(zip(found[0], row, strict=True)) for row in found[1:] if row[0] == topic)
    expected = {"Partition": "0", "ProducerId": str(producer_id), "ProducerEpoch": "3", "StartOffset": "0"}
    assert hanging | expected == hanging
    tools.run("TransactionsCommand", "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    assert values(tools.servers, topic) == [b"behind it"]
    assert topic not in tools.run("TransactionsCommand", "find-hanging", "--broker-id", "1")


def test_offsets_of_partitions_are_reported(tools: Tools, unique_name: str) -> None:
    topic = tools.make_topic(unique_name, 2)
    tools.run("ConsoleProducer", "--topic", topic, stdin="1\n")
    for time, expected in (("latest", 1), ("earliest", 0), ("max-timestamp", 0)):
        reported = tools.run("GetOffsetShell", "--topic", topic, "--time", time)
        offsets = [int(line.rsplit(":", 1)[1]) for line in reported.split() if not line.endswith(":")]
        assert sum(max(offset, 0) for offset in offsets) == expected, reported
        assert {line.split(":")[0] for line in reported.split()} == {topic}


def events(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def test_verifiable_consumer_reads_every_record_acknowledged_to_the_verifiable_producer(
    tools: Tools, unique_name: str
) -> None:
    topic = tools.make_topic(unique_name)
    connect = ("--bootstrap-server", tools.servers, "--topic", topic, "--max-messages", "200")
    # It needs a JVM of its own: it flushes in a hook of the JVM's end.
    produced = events(run_tool("org.apache.kafka.tools.VerifiableProducer", *connect))
    acknowledged = [event for event in produced if event["name"] == "producer_send_success"]
    assert [event["offset"] for event in acknowledged] == list(range(200))
    for protocol in ("classic", "consumer"):
        consume = ("--topic", topic, "--group-id", f"{topic}-{protocol}", "--max-messages", "200", "--verbose")
        how = ("--reset-policy", "earliest", "--group-protocol", protocol)
        seen = events(tools.run("VerifiableConsumer", *consume, *how))
        data = [event["value"] for event in seen if event["name"] == "record_data"]
        assert data == [str(event["value"]) for event in acknowledged]
        assert [event["success"] for event in seen if event["name"] == "offsets_committed"][-1]


@pytest.mark.parametrize("aborts", [(), ("--enable-random-aborts",)], ids=["commits", "random-aborts"])
def test_transactional_message_copier_copies_each_record_once(
    tools: Tools, unique_name: str, aborts: tuple[str, ...]
) -> None:
    source, target = tools.make_topic(f"{unique_name}-in"), tools.make_topic(f"{unique_name}-out")
    tools.run("ConsoleProducer", "--topic", source, stdin="".join(f"{number}\n" for number in range(300)))
    topics = ("--input-topic", source, "--input-partition", "0", "--output-topic", target)
    ids = ("--transactional-id", unique_name, "--consumer-group", unique_name, "--transaction-size", "20")
    at = ("--broker-list", tools.servers, "--max-messages", "300", *aborts)
    tools.run("TransactionalMessageCopier", *topics, *ids, *at, connect=False)
    assert Counter(values(tools.servers, target)) == Counter(b"%d" % number for number in range(300))


def test_api_versions_tool_finds_every_api_usable(tools: Tools) -> None:
    reported = tools.run("BrokerApiVersionsCommand")
    assert re.search(r"Produce\(0\): \d+ to 13 \[usable: 13\]", reported)
    assert re.search(r"EndTxn\(26\): 0 to 5 \[usable: 5\]", reported)
    assert "UNKNOWN" not in reported


def finalized(tools: Tools) -> dict[str, int]:
    reported = tools.run("FeatureCommand", "describe")
    return {name: int(level) for name, level in re.findall(r"Feature: (\S+).*FinalizedVersionLevel: (\d+)", reported)}


def test_features_are_described_lowered_and_raised(tools: Tools, unique_name: str) -> None:
    lower = ("downgrade", "--feature", "transaction.version=1")
    assert finalized(tools) == {"group.version": 1, "share.version": 2, "transaction.version": 2}
    assert "transaction.version can be downgraded to 1." in tools.run("FeatureCommand", *lower, "--dry-run")
    assert finalized(tools)["transaction.version"] == 2
    assert "transaction.version was downgraded to 1." in tools.run("FeatureCommand", *lower)
    disabled = tools.run("FeatureCommand", "disable", "--unsafe", "--feature", "transaction.version")
    assert "transaction.version was disabled." in disabled
    assert finalized(tools) == {"group.version": 1, "share.version": 2, "transaction.version": 0}
    raised = tools.run(
        "FeatureCommand", "upgrade", "--feature", "transaction.version=2", "--feature", "group.version=1"
    )
    assert "transaction.version was upgraded to 2." in raised
    assert finalized(tools) == {"group.version": 1, "share.version": 2, "transaction.version": 2}


@pytest.mark.parametrize("level", [0, 1])
def test_below_transaction_version_2_a_java_producer_keeps_its_epoch(
    tools: Tools, unique_name: str, level: int
) -> None:
    topic = tools.make_topic(unique_name)
    tools.run("FeatureCommand", "downgrade", "--feature", f"transaction.version={level}")
    try:
        size = ("--num-records", "500", "--record-size", "100", "--throughput", "-1")
        transactions = ("--transactional-id", unique_name, "--transaction-duration-ms", "1")
        assert "500 records sent" in tools.run("ProducerPerformance", "--topic", topic, *size, *transactions)
        described = rows(tools.run("TransactionsCommand", "describe", "--transactional-id", unique_name))
        state = dict(zip(described[0], described[1], strict=False))
        assert (state["TransactionState"], state["ProducerEpoch"]) == ("CompleteCommit", "0")
        assert len(values(tools.servers, topic)) == 500
    finally:
        tools.run("FeatureCommand", "upgrade", "--feature", "transaction.version=2")


def test_kafkas_quorum_tool_describes_a_quorum_of_one_node(tools: Tools) -> None:
    status = tools.run("MetadataQuorumCommand", "describe", "--status")
    reported = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert {
        name: reported[name].strip() for name in ("LeaderId", "LeaderEpoch", "MaxFollowerLag", "CurrentObservers")
    } == {
        "LeaderId": "1",
        "LeaderEpoch": "1",
        "MaxFollowerLag": "0",
        "CurrentObservers": "[]",
    }
    voter = json.loads(reported["CurrentVoters"])
    assert voter == [{"id": 1, "endpoints": [f"PLAINTEXT://{tools.servers}"]}]
    heading, leader = rows(tools.run("MetadataQuorumCommand", "describe", "--replication"))
    row = dict(zip(heading, leader, strict=True))
    assert (row["NodeId"], row["Lag"], row["Status"]) == ("1", "0", "Leader")
    assert int(row["LogEndOffset"]) >= int(reported["HighWatermark"])


def test_producer_performance_commits_its_transactions(tools: Tools, unique_name: str) -> None:
    topic = tools.make_topic(unique_name)
    size = ("--num-records", "2000", "--record-size", "100", "--throughput", "-1")
    transactions = ("--transactional-id", unique_name, "--transaction-duration-ms", "50")
    reported = tools.run("ProducerPerformance", "--topic", topic, *size, *transactions)
    assert "2000 records sent" in reported
    assert len(values(tools.servers, topic)) == 2000


def test_dump_tool_shows_segments_and_internal_topics(tools: Tools, unique_name: str) -> None:
    topic = tools.make_topic(unique_name)
    producer = Producer({"bootstrap.servers": tools.servers, "transactional.id": unique_name, "linger.ms": 0})
    producer.init_transactions(120)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(topic, b"dumped value")
        assert producer.flush(120) == 0
        end(30)

    def dump(folder: str, *how: str) -> str:
        files = ",".join(str(path) for path in sorted(tools.data.glob(f"{folder}/*.log")))
        return tools.run("DumpLogSegments", "--files", files, "--deep-iteration", *how, connect=False)

    reported = dump(f"{topic}-0", "--print-data-log")
    assert reported.count("payload: dumped value") == 2
    assert re.findall(r"endTxnMarker: (\w+)", reported) == ["COMMIT", "ABORT"]
    assert "isvalid: false" not in reported
    transactions = dump("__transaction_state-*", "--transaction-log-decoder")
    statuses = [
        re.findall(r'"transactionStatus":"(\w+)"', line) for line in transactions.splitlines() if unique_name in line
    ]
    complete_commit, complete_abort = ["CompleteCommit"], ["CompleteAbort"]
    assert statuses[-1] == complete_abort
    assert complete_commit in statuses
