"""Measures one member of a share group that takes records and acknowledges them: each in a request of its own, or 500
at a time within its next fetch. The member is a Python client that is equally slow with each server; the servers differ
in the broker's CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Producer

from benchmarks.load import BenchmarkError
from benchmarks.measures import Figures, Size, new_topic
from benchmarks.servers import Server, Usage
from oncelog.apps.conformance.expect import NotOffered
from oncelog.apps.conformance.raw.share_members import ACCEPT, RawShareMember, needs_share_groups, set_group
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic

TAKEN_AT_ONCE = 500
BATCHES_FOR_EACH = 20
"""How many records are sent in batches for each record that is sent alone, so that both measurements take about as
long."""


def share_groups(server: Server, size: Size) -> Figures:
    with RawConnection(server.bootstrap_servers) as connection:
        try:
            needs_share_groups(connection)
        except NotOffered:
            return {}
    return _measured(server, "one by one", size.latency_records, _one_by_one) | _measured(
        server, "in batches", size.latency_records * BATCHES_FOR_EACH, _in_batches
    )


def _measured(server: Server, how: str, records: int, work: Callable[[RawShareMember, int], None]) -> Figures:
    topic = new_topic(server, 1)
    producer = Producer(
        {"bootstrap.servers": server.bootstrap_servers, "batch.num.messages": TAKEN_AT_ONCE, "linger.ms": 50}
    )
    for _ in range(records):
        producer.produce(topic, bytes(100))
    if producer.flush(60):
        raise BenchmarkError(f"{server.name} did not take all records")
    with RawConnection(server.bootstrap_servers) as connection:
        set_group(connection, topic, "share.auto.offset.reset", "earliest")
        (found,) = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic)]), 12).topics
        member = RawShareMember(connection, topic, topic, found.topic_id).begin()
        usage, begin = Usage(server), time.monotonic()
        work(member, records)
        seconds, cpu_s = time.monotonic() - begin, usage.cpu_s
        member.end()
    name = f"share group, acknowledged {how}"
    return {f"{name}: records_per_s": records / seconds, f"{name}: broker CPU us a record": cpu_s / records * 1e6}


def _one_by_one(member: RawShareMember, records: int) -> None:
    while records > 0:
        for first, last, _ in member.fetch(max_records=TAKEN_AT_ONCE).acquired:
            for offset in range(first, last + 1):
                if member.acknowledge(offset, offset, ACCEPT):
                    raise BenchmarkError(f"offset {offset} was not acknowledged")
                records -= 1


def _in_batches(member: RawShareMember, records: int) -> None:
    acks: list[tuple[int, int, list[int]]] = []
    while records > 0:
        error, found = member.fetch_once(acks={0: acks}, max_records=TAKEN_AT_ONCE)
        if error or (0 in found and (found[0].error or found[0].acknowledge_error)):
            raise BenchmarkError(f"a fetch of a share group failed: {error or found[0]}")
        acks = [(first, last, [ACCEPT]) for first, last, _ in found[0].acquired] if 0 in found else []
        records -= sum(last - first + 1 for first, last, _ in acks)
    member.acknowledge_once({0: acks})
