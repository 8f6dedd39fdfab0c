"""Measurements that raw loads cannot make: waiting consumers, groups of many members, memory per connection.

Each function measures one server over its own connections and returns figures, like the cells of ``requests``.
"""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from statistics import quantiles

from benchmarks.load import BenchmarkError
from benchmarks.measures import Figures, new_topic
from benchmarks.raw import FETCH_VERSION, Caller, batch, encode, fetch_frame, produce
from benchmarks.servers import Server, Usage
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment

WAITING = 1_000
APPENDS = 200
MEMBERS = 500
BEATS = 10
QUIET_MS = 500
IDLE = 1_000
JOIN, SYNC, BEAT = 3, 2, 2
"""Versions of JoinGroup, SyncGroup and Heartbeat: the newest that Tansu also supports, or the newest that does not
require a member id first."""


def waiting_consumers(server: Server, caller: Caller, seconds: float) -> Figures:
    """Measures the cost of 1,000 consumers that wait, each on a partition of its own, and of an append to one of these
    partitions."""
    topic = new_topic(server, WAITING)
    with ExitStack() as stack:
        consumers = [stack.enter_context(closing(Caller(server))) for _ in range(WAITING)]
        offsets = [0] * WAITING
        for index, consumer in enumerate(consumers):
            consumer.post(_fetch(topic, index, 0))
        time.sleep(1)
        usage = Usage(server)
        time.sleep(seconds)
        idle_s = usage.cpu_s / seconds
        taken_us: list[float] = []
        usage = Usage(server)
        for index in range(APPENDS):
            begun = time.perf_counter()
            caller.check(produce(topic, index, batch(0)))
            answer = consumers[index].receive_as(FetchRequest, FETCH_VERSION).responses[0].partitions[0]
            taken_us.append((time.perf_counter() - begun) * 1e6)
            if answer.error_code:
                raise BenchmarkError(f"a fetch that waited was answered with error {answer.error_code}")
            offsets[index] += 1
            consumers[index].post(_fetch(topic, index, offsets[index]))
        woken_us = usage.cpu_s / APPENDS * 1e6
        poll = select.poll()
        for consumer in consumers:
            poll.register(consumer, select.POLLIN)
        disturbed = poll.poll(0)
        if disturbed:
            raise BenchmarkError(f"{len(disturbed)} fetches were answered to which nothing had come")
    name = "1,000 consumers that wait"
    return {
        f"{name}: broker CPU us a second": idle_s * 1e6,
        f"{name}: broker CPU us an append and its fetch": woken_us,
        f"{name}: append to fetch p50 us": sorted(taken_us)[APPENDS // 2],
        f"{name}: append to fetch p99 us": quantiles(taken_us, n=100)[98],
    }


def _fetch(topic: str, index: int, offset: int) -> bytes:
    return fetch_frame(topic, index, 100_000, max_wait_ms=60_000, offset=offset)


def group_of_members(server: Server, caller: Caller, seconds: float) -> Figures:
    """500 members of a classic group join, join again after a change, and send heartbeats."""
    del seconds
    group = f"bench-{time.time_ns()}"
    caller.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
    with ExitStack() as stack:
        members = [stack.enter_context(closing(Caller(server))) for _ in range(MEMBERS)]
        usage = Usage(server)
        ids, generation = _joined(members, group, [""] * MEMBERS, _subscription(b"t"))
        joined_s = usage.cpu_s
        usage = Usage(server)
        ids, generation = _joined(members, group, ids, _subscription(b"u"))
        rejoined_s = usage.cpu_s
        usage = Usage(server)
        for _ in range(BEATS):
            for member, member_id in zip(members, ids, strict=True):
                member.post(encode(HeartbeatRequest(group, generation, member_id), BEAT))
            for member in members:
                _refuse_errors(member.receive_as(HeartbeatRequest, BEAT).error_code, "Heartbeat")
        beat_s = usage.cpu_s
    name = f"{MEMBERS} members"
    return {
        f"{name}: first join and sync, broker CPU ms": joined_s * 1e3,
        f"{name}: rebalance, broker CPU ms": rejoined_s * 1e3,
        f"{name}: broker CPU us a heartbeat": beat_s / (BEATS * MEMBERS) * 1e6,
    }


def _joined(members: Sequence[Caller], group: str, ids: Sequence[str], metadata: bytes) -> tuple[list[str], int]:
    """Bring all members into one generation, each with an assignment; returns their ids and the generation.

    A member that is answered while others still wait joins again: a server may begin with the first members.
    """
    poll = select.poll()
    numbers = {member.fileno(): number for number, member in enumerate(members)}
    found: dict[int, JoinGroupResponse] = {}
    asks: Iterable[int] = range(len(members))
    deadline = time.monotonic() + 30
    while True:
        for number in asks:
            protocols = [JoinGroupRequestProtocol("range", metadata)]
            member_id = found.pop(number).member_id if number in found else ids[number]
            request = JoinGroupRequest(group, 60_000, 60_000, member_id, None, "consumer", protocols)
            members[number].post(encode(request, JOIN))
            poll.register(members[number], select.POLLIN)
        while len(found) < len(members) and (ready := poll.poll(QUIET_MS if found else 1000 * 30)):
            for descriptor, _ in ready:
                poll.unregister(descriptor)
                answer = found[numbers[descriptor]] = members[numbers[descriptor]].receive_as(JoinGroupRequest, JOIN)
                _refuse_errors(answer.error_code, "JoinGroup")
        newest = max(answer.generation_id for answer in found.values())
        if len(found) == len(members) and all(answer.generation_id == newest for answer in found.values()):
            break
        if time.monotonic() > deadline:
            raise BenchmarkError(f"{len(found)} of {len(members)} members were let in")
        asks = list(found)
    answers = [found[number] for number in range(len(members))]
    for member, answer in zip(members, answers, strict=True):
        shares = [SyncGroupRequestAssignment(m.member_id, bytes(50)) for m in answer.members]
        member.post(encode(SyncGroupRequest(group, newest, answer.member_id, assignments=shares), SYNC))
    for member in members:
        _refuse_errors(member.receive_as(SyncGroupRequest, SYNC).error_code, "SyncGroup")
    return [answer.member_id for answer in answers], newest


def _subscription(topic: bytes) -> bytes:
    """Version 0 of a consumer's subscription to one topic, without user data."""
    return struct.pack(f">hih{len(topic)}si", 0, 1, len(topic), topic, -1)


def _refuse_errors(error: int, name: str) -> None:
    if error:
        raise BenchmarkError(f"{name} was answered with error {error}")


def idle_connections(server: Server, caller: Caller, seconds: float) -> Figures:
    """The memory that 1,000 idle connections take after one request each."""
    del caller, seconds
    hello = encode(ApiVersionsRequest("bench", "1"), 3)
    usage = Usage(server)
    before = usage.rss_mb
    with ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(closing(Caller(server))).send(hello)
        return {"an idle connection: RSS KB": (usage.rss_mb - before) * 1e3 / IDLE}


REACH: dict[str, Callable[[Server, Caller, float], Figures]] = {
    "an idle connection": idle_connections,
    "1,000 consumers that wait": waiting_consumers,
    f"{MEMBERS} members": group_of_members,
}
