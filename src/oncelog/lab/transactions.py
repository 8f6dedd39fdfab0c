"""Six flows of transactions (KIP-98, KIP-360, KIP-664, KIP-890)."""

from __future__ import annotations

from oncelog.client.core.client_errors import KafkaError
from oncelog.conformance.raw.transactional_producer import RawTransactionalProducer, init
from oncelog.errors import Error
from oncelog.lab.testbed import VERIFICATION, LabError, Testbed
from oncelog.lab.trace import PARTITION
from oncelog.types import TopicPartition

PRODUCER, READER = "producer", "reader"
_CANNOT_HANG = (
    f"this cluster asks the coordinator before it accepts a transactional batch ({VERIFICATION}=true), so no "
    "transaction can hang there (KIP-890): leave --bootstrap-server out to see it on an embedded broker"
)


def commit(testbed: Testbed) -> None:
    producer = testbed.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    for value in (b"a", b"b"):
        producer.send_and_wait(testbed.topic, value)
    before = testbed.read(READER)
    producer.commit_transaction()
    testbed.ended("transfer-1")
    after = testbed.read(READER)
    testbed.promise("before the commit a read_committed reader gets nothing", before == [])
    testbed.promise("after it the reader gets both a and b", after == ["a", "b"])
    testbed.promise("a commit marker ends the transaction in the partition", testbed.log()[-1].fate == "commit marker")


def abort(testbed: Testbed) -> None:
    producer = testbed.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(testbed.topic, b"a")
    producer.abort_transaction()
    testbed.ended("transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(testbed.topic, b"b")
    producer.commit_transaction()
    testbed.ended("transfer-1")
    committed = testbed.read(READER)
    everything = testbed.read(READER, committed=False)
    testbed.promise("a read_committed reader gets only b: the answer says what to skip", committed == ["b"])
    testbed.promise("a stays in the log, and a read_uncommitted reader gets it", everything == ["a", "b"])


def zombie_fenced(testbed: Testbed) -> None:
    zombie = testbed.producer("zombie", "transfer-1")
    zombie.begin_transaction()
    zombie.send_and_wait(testbed.topic, b"a")
    testbed.note("zombie", "hangs: a long pause, a cut network")
    successor = testbed.producer("successor", "transfer-1")
    successor.start()
    testbed.ended("transfer-1")
    successor.begin_transaction()
    successor.send_and_wait(testbed.topic, b"b")
    successor.commit_transaction()
    testbed.ended("transfer-1")
    testbed.note("zombie", "wakes up and continues where it was")
    why = ""
    try:
        zombie.send_and_wait(testbed.topic, b"c")
        zombie.commit_transaction()
    except KafkaError as error:
        why = type(error).__name__
        testbed.note("zombie", f"its program gets {why}")
    testbed.promise("the zombie was refused, and was told", why != "")
    testbed.promise("a reader gets only b: nothing from the zombie, before or after", testbed.read(READER) == ["b"])


def coordinator_dies(testbed: Testbed) -> None:
    inside = testbed.inside
    producer = testbed.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(testbed.topic, b"a")
    with inside.crash_coordinator(after="prepare", transactional_id=testbed.transactional_id("transfer-1")) as fault:
        producer.commit_transaction()
        fault.wait(60)
    coordinator = testbed.lane("coordinator")
    testbed.note(coordinator, "crashed after PrepareCommit, before any marker; the next one read its log")
    testbed.ended("transfer-1")
    read = testbed.read(READER)
    testbed.promise("the coordinator crashed between the two phases", fault.hits == 1)
    testbed.promise("the transaction is committed nevertheless: the decision was in the log", read == ["a"])
    markers = [entry for entry in testbed.log() if entry.fate == "commit marker"]
    testbed.promise("one commit marker was written", len(markers) == 1)


def hanging(testbed: Testbed) -> None:
    verified = testbed.setting_of_broker(VERIFICATION)
    if verified is not None and verified.lower() != "false":  # brokers before Apache Kafka 3.6 have no such setting
        raise LabError(_CANNOT_HANG)
    raw = RawTransactionalProducer(testbed.raw(PRODUCER), testbed.transactional_id("transfer-1"))
    identity = init(raw.connection, raw.id)
    raw.pid, raw.epoch = identity.producer_id, identity.producer_epoch
    raw.send(testbed.topic, b"a")
    raw.end_once(commit=False)
    testbed.ended("transfer-1")
    testbed.note(PRODUCER, "a late batch of the same transaction arrives after the abort")
    if raw.send_once(testbed.topic, b"late").error != Error.NONE:
        raise LabError(_CANNOT_HANG)
    testbed.producer("another producer").send_and_wait(testbed.topic, b"b")
    before = testbed.read(READER)
    operator = testbed.admin("operator")
    where = TopicPartition(testbed.topic, 0)
    testbed.note("operator", "oncelog transactions find-hanging")
    found = operator.find_hanging_transactions([where])
    testbed.promise("a reader was held back before the late batch", before == [])
    testbed.promise("find-hanging found it", [state.producer_id for _, state in found] == [raw.pid])
    if not found:
        return
    start = found[0][1].transaction_start_offset
    testbed.note("operator", f"oncelog transactions abort --start-offset {start}")
    operator.abort_transaction(where, start_offset=start)
    testbed.look()
    testbed.promise("after it was ended the reader gets b, but not the late batch", testbed.read(READER) == ["b"])


def held_back(testbed: Testbed) -> None:
    slow, fast = testbed.producer("slow producer", "slow-1"), testbed.producer("fast producer", "fast-1")
    slow.begin_transaction()
    slow.send_and_wait(testbed.topic, b"a")
    fast.begin_transaction()
    fast.send_and_wait(testbed.topic, b"b")
    fast.commit_transaction()
    testbed.ended("fast-1")
    committed, everything = testbed.read(READER), testbed.read(READER, committed=False)
    testbed.note(
        testbed.lane(PARTITION), "b is committed, but is behind the first open transaction: the last stable offset"
    )
    slow.commit_transaction()
    testbed.ended("slow-1")
    testbed.promise("while the slow one is open, a read_committed reader gets nothing, not even b", committed == [])
    testbed.promise("a read_uncommitted reader gets both", everything == ["a", "b"])
    testbed.promise("then it gets both, in the order of the log", testbed.read(READER) == ["a", "b"])
