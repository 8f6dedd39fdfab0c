"""Seven flows of transactions (KIP-98, KIP-360, KIP-664, KIP-890, KIP-1319)."""

from __future__ import annotations

from oncelog.apps.conformance.raw.transactional_producer import RawTransactionalProducer, init
from oncelog.apps.lab.flow_context import VERIFICATION, FlowContext, LabError
from oncelog.apps.lab.trace import PARTITION
from oncelog.client.core.client_errors import KafkaError
from oncelog.errors import Error
from oncelog.types import TopicPartition

PRODUCER, READER, COPIER = "producer", "reader", "copier"
BY_TOPIC_ID = 6
"""The first version of TxnOffsetCommit that identifies topics by id."""
_CANNOT_HANG = (
    f"this cluster asks the coordinator before it accepts a transactional batch ({VERIFICATION}=true), so no "
    "transaction can hang there (KIP-890): leave --bootstrap-server out to see it on an embedded broker"
)


def commit(context: FlowContext) -> None:
    producer = context.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    for value in (b"a", b"b"):
        producer.send_and_wait(context.topic, value)
    before = context.read(READER)
    producer.commit_transaction()
    context.ended("transfer-1")
    after = context.read(READER)
    context.promise("before the commit a read_committed reader gets nothing", before == [])
    context.promise("after the commit the reader gets both a and b", after == ["a", "b"])
    context.promise(
        "a commit marker ends the transaction in the partition", context.log()[-1].outcome == "commit marker"
    )


def abort(context: FlowContext) -> None:
    producer = context.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(context.topic, b"a")
    producer.abort_transaction()
    context.ended("transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(context.topic, b"b")
    producer.commit_transaction()
    context.ended("transfer-1")
    committed = context.read(READER)
    everything = context.read(READER, committed=False)
    context.promise("a read_committed reader gets only b: the answer lists the transaction to skip", committed == ["b"])
    context.promise("a stays in the log, and a read_uncommitted reader gets it", everything == ["a", "b"])


def zombie_fenced(context: FlowContext) -> None:
    zombie = context.producer("zombie", "transfer-1")
    zombie.begin_transaction()
    zombie.send_and_wait(context.topic, b"a")
    context.note("zombie", "hangs: a long pause, a cut network")
    successor = context.producer("successor", "transfer-1")
    successor.start()
    context.ended("transfer-1")
    successor.begin_transaction()
    successor.send_and_wait(context.topic, b"b")
    successor.commit_transaction()
    context.ended("transfer-1")
    context.note("zombie", "wakes up and continues where it was")
    why = ""
    try:
        zombie.send_and_wait(context.topic, b"c")
        zombie.commit_transaction()
    except KafkaError as error:
        why = type(error).__name__
        context.note("zombie", f"its program gets {why}")
    context.promise("the zombie was refused with an error", why != "")
    context.promise("a reader gets only b: nothing from the zombie, before or after", context.read(READER) == ["b"])


def coordinator_dies(context: FlowContext) -> None:
    inside = context.inside
    producer = context.producer(PRODUCER, "transfer-1")
    producer.begin_transaction()
    producer.send_and_wait(context.topic, b"a")
    with inside.crash_coordinator(after="prepare", transactional_id=context.transactional_id("transfer-1")) as fault:
        producer.commit_transaction()
        fault.wait(60)
    coordinator = context.lane("coordinator")
    context.note(coordinator, "crashed after PrepareCommit and before any marker; the next coordinator read its log")
    context.ended("transfer-1")
    read = context.read(READER)
    context.promise("the coordinator crashed between the two phases", fault.hits == 1)
    context.promise("the transaction is committed nevertheless: the decision was in the log", read == ["a"])
    markers = [entry for entry in context.log() if entry.outcome == "commit marker"]
    context.promise("one commit marker was written", len(markers) == 1)


def _raw_producer(context: FlowContext, actor: str, name: str) -> RawTransactionalProducer:
    raw = RawTransactionalProducer(context.raw(actor), context.transactional_id(name))
    identity = init(raw.connection, raw.id)
    raw.pid, raw.epoch = identity.producer_id, identity.producer_epoch
    return raw


def hanging(context: FlowContext) -> None:
    verified = context.setting_of_broker(VERIFICATION)
    # None: the broker is older than Apache Kafka 3.6 and has no such setting
    if verified is not None and verified.lower() != "false":
        raise LabError(_CANNOT_HANG)
    raw = _raw_producer(context, PRODUCER, "transfer-1")
    raw.send(context.topic, b"a")
    raw.end_once(commit=False)
    context.ended("transfer-1")
    context.note(PRODUCER, "a late batch of the same transaction arrives after the abort")
    if raw.send_once(context.topic, b"late").error != Error.NONE:
        raise LabError(_CANNOT_HANG)
    context.producer("another producer").send_and_wait(context.topic, b"b")
    before = context.read(READER)
    operator = context.admin("operator")
    where = TopicPartition(context.topic, 0)
    context.note("operator", "oncelog transactions find-hanging")
    found = operator.find_hanging_transactions([where])
    context.promise("a reader was held back before the late batch", before == [])
    context.promise("find-hanging found it", [state.producer_id for _, state in found] == [raw.pid])
    if not found:
        return
    start = found[0][1].transaction_start_offset
    context.note("operator", f"oncelog transactions abort --start-offset {start}")
    operator.abort_transaction(where, start_offset=start)
    context.look()
    context.promise(
        "after the transaction was ended the reader gets b, but not the late batch", context.read(READER) == ["b"]
    )


def held_back(context: FlowContext) -> None:
    slow, fast = context.producer("slow producer", "slow-1"), context.producer("fast producer", "fast-1")
    slow.begin_transaction()
    slow.send_and_wait(context.topic, b"a")
    fast.begin_transaction()
    fast.send_and_wait(context.topic, b"b")
    fast.commit_transaction()
    context.ended("fast-1")
    committed, everything = context.read(READER), context.read(READER, committed=False)
    context.note(
        context.lane(PARTITION), "b is committed, but is behind the first open transaction: the last stable offset"
    )
    slow.commit_transaction()
    context.ended("slow-1")
    context.promise(
        "while the slow transaction is open, a read_committed reader gets nothing, not even b", committed == []
    )
    context.promise("a read_uncommitted reader gets both", everything == ["a", "b"])
    context.promise("then the reader gets both, in the order of the log", context.read(READER) == ["a", "b"])


def topic_made_again(context: FlowContext) -> None:
    # older OffsetCommit versions identify a topic by name alone, and cannot tell the new topic from the old
    context.raw(COPIER).needs_release("4.4")
    group, read_from = context.group("copies"), context.topic_id()
    context.producer(PRODUCER).send_and_wait(context.topic, b"a")
    read = context.read(COPIER)
    context.note(context.lane(PARTITION), "the topic is deleted, and a new topic of the same name is created")
    context.make_topic_again()
    context.producer(PRODUCER).send_and_wait(context.topic, b"b")
    copier = _raw_producer(context, COPIER, "copy-1")
    copier.add_offsets(group)

    def commit(topic_id: bytes) -> list[int]:
        return copier.commit_offsets_once(
            group, {(context.topic, 0): 1}, version=BY_TOPIC_ID, ids={context.topic: topic_id}
        )

    context.promise("the copier has read a of the first topic", read == ["a"])
    refused = commit(read_from)
    copier.end_once(commit=False)
    context.ended("copy-1")
    context.promise("its offset is refused: no topic has this id", refused == [Error.UNKNOWN_TOPIC_ID])
    context.promise("the group has no offset in the new topic", context.committed(group) is None)
    again = context.read(COPIER)
    copier.add_offsets(group)
    taken = commit(context.topic_id())
    copier.end_once(commit=True)
    context.ended("copy-1")
    context.promise("so it reads b, which offset 1 would have skipped", again == ["b"])
    context.promise("with the id of the new topic it is committed", (taken, context.committed(group)) == ([0], 1))
