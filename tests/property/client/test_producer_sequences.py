"""An idempotent producer and a leader that refuses, loses requests and answers, and forgets it: nothing is stored
twice, nothing is lost, nothing waits forever (KIP-98, KIP-360).
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.client.core.connection.wire import METADATA, PRODUCE
from oncelog.errors import Error
from tests.unit.client.core.kafka_partition import KafkaPartition, serve
from tests.unit.client.core.producers import ProducerCore, metadata_answer, refuse

EVENTS = ("send", "send", "answer", "answer", "refuse", "lose request", "lose answer", "forget", "wait", "wait long")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), max_size=60))
def test_every_record_is_stored_once_whatever_the_leader_answers(events: list[str]) -> None:
    core, kafka = ProducerCore().start(), KafkaPartition()
    sent_records = 0
    for event in events:
        while core.wire.count(METADATA):
            core.wire.take(METADATA).answer(metadata_answer())
        if event == "send":
            core.send(b"%d" % sent_records)
            sent_records += 1
        elif event == "forget":
            # A leader that forgets the producer while an answer is lost has nothing to recognise the repeat by.
            if len(kafka.values) == len(core.outcomes):
                kafka.forget_producer()
        elif event.startswith("wait"):
            core.wire.pass_time(2000 if event == "wait long" else 100)
        elif core.wire.count(PRODUCE):
            request = core.produced()
            if event == "answer":
                kafka.answer(request)
            elif event == "refuse":
                refuse(request, Error.NOT_LEADER_OR_FOLLOWER)
            else:
                if event == "lose answer":
                    kafka.write(request)
                request.lose()
    serve(core, kafka)
    assert sorted(int(value or b"") for value in kafka.values) == list(range(sent_records))
    assert [outcome.error for outcome in core.outcomes] == [None] * sent_records
