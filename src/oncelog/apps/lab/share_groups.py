"""The flow of a share group (KIP-932): an acquisition lock that expires, and an acknowledgement whose answer is
lost."""

from __future__ import annotations

from oncelog.apps.conformance.raw.share_members import ACCEPT, RawDelivery, RawShareMember
from oncelog.apps.conformance.raw.wire import ConnectionClosed
from oncelog.apps.lab.flow_context import FlowContext
from oncelog.errors import Error

SLOW, OTHER = "slow worker", "other worker"


def _worker(context: FlowContext, actor: str, group: str, topic_id: bytes) -> RawShareMember:
    return RawShareMember(context.raw(actor), group, context.topic, topic_id).begin()


def _gets(context: FlowContext, actor: str, found: RawDelivery) -> dict[bytes | None, int]:
    """The records that a worker's program receives, with their delivery counts."""
    counts = {
        value: count
        for first, last, count in found.acquired
        for offset, value in found.values.items()
        if first <= offset <= last
    }
    jobs = ", ".join(f"{(value or b'').decode()} (delivery {count})" for value, count in counts.items())
    context.note(actor, f"gets {jobs}")
    return counts


def redelivery(context: FlowContext) -> None:
    group, topic_id = context.share_group("workers")
    slow = _worker(context, SLOW, group, topic_id)
    other = _worker(context, OTHER, group, topic_id)
    producer = context.producer("producer")
    for value in (b"a", b"b"):
        producer.send_and_wait(context.topic, value)
    held = _gets(context, SLOW, slow.fetch())
    while len(held) < 2:
        held |= _gets(context, SLOW, slow.fetch())
    context.note(SLOW, "does a, and accepts it")
    accepted = slow.acknowledge(0, 0, ACCEPT)
    context.note(SLOW, "its connection breaks while it handles b: its records become available")
    slow.connection.close()
    again = _gets(context, OTHER, other.fetch())
    context.promise("record a was accepted, and is not delivered again", accepted == 0 and b"a" not in again)
    context.promise("record b is delivered again, to another worker, as its second delivery", again == {b"b": 2})
    back = _worker(context, SLOW, group, topic_id)
    context.note(SLOW, "reconnects, has handled b, and accepts it")
    late = back.acknowledge(1, 1, ACCEPT)
    context.promise(
        "the acknowledgement is refused: b belongs to the other worker now", late == Error.INVALID_RECORD_STATE
    )
    with context.faults.lose_answer("ShareAcknowledge", group=group) as fault:
        context.note(OTHER, "has done b too; the network will lose the answer to its acknowledgement")
        try:
            other.acknowledge(1, 1, ACCEPT)
        except ConnectionClosed:
            context.note(OTHER, "does not know whether b is acknowledged")
        lost = fault.hits
    producer.send_and_wait(context.topic, b"c")
    last = _gets(context, SLOW, back.fetch())
    context.promise("the acknowledgement counts, although its answer was lost", lost == 1)
    context.promise("so b is not delivered a third time: the next record is c", last == {b"c": 1})
    back.acknowledge(2, 2, ACCEPT)
    back.end()
