"""Six flows of transactions (KIP-98, KIP-360, KIP-664, KIP-890)."""

from __future__ import annotations

from oncelog.client.core.client_errors import KafkaError
from oncelog.conformance.raw.transactional_producer import Transactional, init
from oncelog.errors import Error
from oncelog.lab.stage import VERIFICATION, LabError, Stage
from oncelog.lab.story import PARTITION
from oncelog.types import TopicPartition

PRODUCER, READER = "producer", "reader"
_CANNOT_HANG = (
    f"this cluster asks the coordinator before it accepts a transactional batch ({VERIFICATION}=true), so no "
    "transaction can hang there (KIP-890): leave --bootstrap-server out to see it on an embedded broker"
)


def commit(stage: Stage) -> None:
    producer = stage.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    for value in (b"a", b"b"):
        producer.send_and_wait(stage.topic, value)
    before = stage.read(READER)
    producer.commit_transaction()
    stage.ended("transfer-1")
    after = stage.read(READER)
    stage.promise("before the commit a read_committed reader gets nothing", before == [])
    stage.promise("after it the reader gets both a and b", after == ["a", "b"])
    stage.promise("a commit marker ends the transaction in the partition", stage.log()[-1].fate == "commit marker")


def abort(stage: Stage) -> None:
    producer = stage.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(stage.topic, b"a")
    producer.abort_transaction()
    stage.ended("transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(stage.topic, b"b")
    producer.commit_transaction()
    stage.ended("transfer-1")
    committed = stage.read(READER)
    everything = stage.read(READER, committed=False)
    stage.promise("a read_committed reader gets only b: the answer says what to skip", committed == ["b"])
    stage.promise("a stays in the log, and a read_uncommitted reader gets it", everything == ["a", "b"])


def zombie_fenced(stage: Stage) -> None:
    zombie = stage.producer("zombie", "transfer-1")
    zombie.begin_transaction()
    zombie.send_and_wait(stage.topic, b"a")
    stage.note("zombie", "hangs: a long pause, a cut network")
    successor = stage.producer("successor", "transfer-1")
    successor.start()
    stage.ended("transfer-1")
    successor.begin_transaction()
    successor.send_and_wait(stage.topic, b"b")
    successor.commit_transaction()
    stage.ended("transfer-1")
    stage.note("zombie", "wakes up and continues where it was")
    why = ""
    try:
        zombie.send_and_wait(stage.topic, b"c")
        zombie.commit_transaction()
    except KafkaError as error:
        why = type(error).__name__
        stage.note("zombie", f"its program gets {why}")
    stage.promise("the zombie was refused, and was told", why != "")
    stage.promise("a reader gets only b: nothing from the zombie, before or after", stage.read(READER) == ["b"])


def coordinator_dies(stage: Stage) -> None:
    inside = stage.inside
    producer = stage.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(stage.topic, b"a")
    with inside.crash_coordinator(after="prepare", transactional_id=stage.transactional_id("transfer-1")) as fault:
        producer.commit_transaction()
        fault.wait(60)
    coordinator = stage.lane("coordinator")
    stage.note(coordinator, "crashed after PrepareCommit, before any marker; the next one read its log")
    stage.ended("transfer-1")
    read = stage.read(READER)
    stage.promise("the coordinator crashed between the two phases", fault.hits == 1)
    stage.promise("the transaction is committed nevertheless: the decision was in the log", read == ["a"])
    markers = [entry for entry in stage.log() if entry.fate == "commit marker"]
    stage.promise("one commit marker was written", len(markers) == 1)


def hanging(stage: Stage) -> None:
    verified = stage.setting_of_broker(VERIFICATION)
    if verified is not None and verified.lower() != "false":  # brokers before Apache Kafka 3.6 have no such setting
        raise LabError(_CANNOT_HANG)
    raw = Transactional(stage.raw(PRODUCER), stage.transactional_id("transfer-1"))
    identity = init(raw.connection, raw.id)
    raw.pid, raw.epoch = identity.producer_id, identity.producer_epoch
    raw.send(stage.topic, b"a")
    raw.end_once(commit=False)
    stage.ended("transfer-1")
    stage.note(PRODUCER, "a late batch of the same transaction arrives after the abort")
    if raw.send_once(stage.topic, b"late").error != Error.NONE:
        raise LabError(_CANNOT_HANG)
    stage.producer("another producer").send_and_wait(stage.topic, b"b")
    before = stage.read(READER)
    operator = stage.admin("operator")
    where = TopicPartition(stage.topic, 0)
    stage.note("operator", "oncelog transactions find-hanging")
    found = operator.find_hanging_transactions([where])
    stage.promise("a reader was held back before the late batch", before == [])
    stage.promise("find-hanging found it", [state.producer_id for _, state in found] == [raw.pid])
    if not found:
        return
    start = found[0][1].transaction_start_offset
    stage.note("operator", f"oncelog transactions abort --start-offset {start}")
    operator.abort_transaction(where, start_offset=start)
    stage.look()
    stage.promise("after it was ended the reader gets b, but not the late batch", stage.read(READER) == ["b"])


def held_back(stage: Stage) -> None:
    slow, fast = stage.producer("slow producer", "slow-1"), stage.producer("fast producer", "fast-1")
    slow.begin_transaction()
    slow.send_and_wait(stage.topic, b"a")
    fast.begin_transaction()
    fast.send_and_wait(stage.topic, b"b")
    fast.commit_transaction()
    stage.ended("fast-1")
    committed, everything = stage.read(READER), stage.read(READER, committed=False)
    stage.note(
        stage.lane(PARTITION), "b is committed, but is behind the first open transaction: the last stable offset"
    )
    slow.commit_transaction()
    stage.ended("slow-1")
    stage.promise("while the slow one is open, a read_committed reader gets nothing, not even b", committed == [])
    stage.promise("a read_uncommitted reader gets both", everything == ["a", "b"])
    stage.promise("then it gets both, in the order of the log", stage.read(READER) == ["a", "b"])
