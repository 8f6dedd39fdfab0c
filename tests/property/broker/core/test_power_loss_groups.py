"""Power loss under groups: answered offsets and memberships hold, and a transaction's offsets and outputs go
together.

Plain commits, commits by members of both group protocols, and offsets in transactions, in any order; see
:mod:`tests.property.broker.core.life` for what a power loss means here.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from oncelog.errors import Error
from oncelog.testing.simulation.disk import FaultyDisk
from oncelog.types import ProducerIdAndEpoch
from tests.property.broker.core.life import PLACES, Life, PowerLost
from tests.support.group_host import GroupClient, MemoryGroupHost

LIVES = 5
PARTITIONS = (0, 1)
GONE = {Error.UNKNOWN_MEMBER_ID, Error.GROUP_ID_NOT_FOUND}


@dataclass
class Offset:
    """``sure`` is the newest offset that was answered, ``maybe`` the ones that were sent after it."""

    sure: int = -1
    maybe: list[int] = field(default_factory=list)


@dataclass
class Member:
    """The only member of its group; ``present`` is None while a change of it has no answer."""

    group: str
    protocol: str
    member_id: str = ""
    generation: int = -1
    present: bool | None = None
    reported: bool = False


@dataclass
class Known:
    """What clients know, from one life to the next."""

    offsets: dict[tuple[str, int], Offset] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    outcomes: list[bool | None] = field(default_factory=list)
    sent: int = 0

    def next_offset(self) -> int:
        self.sent += 1
        return self.sent


class Clients:
    """What clients do in one life."""

    def __init__(self, life: Life, known: Known, rng: random.Random) -> None:
        self.life = life
        self.known = known
        self.rng = rng
        self.producer: ProducerIdAndEpoch = life.init()

    def client(self, group: str) -> GroupClient:
        return GroupClient(cast(MemoryGroupHost, self.life), group)

    def act(self) -> None:
        present = [member for member in self.known.members if member.present]
        work: list[Any] = [self.plain_commit, self.transaction, self.transaction, self.join]
        if present:
            member = self.rng.choice(present)
            work += [lambda: self.leave(member), *[lambda: self.commit_as(member)] * 3]
        self.rng.choice(work)()

    def plain_commit(self) -> None:
        self.commit("plain", {})

    def commit_as(self, member: Member) -> None:
        self.commit(member.group, {"member_id": member.member_id, "generation": member.generation})

    def commit(self, group: str, identity: dict[str, Any]) -> None:
        """One offset; if nobody waits for the answer, either outcome is allowed."""
        partition = self.rng.choice(PARTITIONS)
        state = self.known.offsets.setdefault((group, partition), Offset())
        value = self.known.next_offset()
        state.maybe.append(value)
        answer = self.client(group).commit(value, topic="in", partition=partition, **identity)
        if self.rng.random() < 0.7:
            assert self.life.answer(answer) is Error.NONE
            state.sure, state.maybe = value, []

    def transaction(self) -> None:
        """Records for each output and offsets for each input, committed together or not at all."""
        known, number, commit = self.known, len(self.known.outcomes), self.rng.random() < 0.6
        known.outcomes.append(False)
        steps = [lambda: self.life.write(self.producer, number, acknowledged=commit), lambda: self.send_offsets(number)]
        self.rng.shuffle(steps)
        for step in steps:
            step()
        known.outcomes[number] = None if commit else False
        self.producer = self.life.end_transaction(self.producer, commit)
        known.outcomes[number] = commit

    def send_offsets(self, number: int) -> None:
        for partition in PARTITIONS:
            answer = self.client("pipe").commit_in_transaction(number, self.producer, topic="in", partition=partition)
            assert self.life.answer(answer) is Error.NONE

    def join(self) -> None:
        protocol = self.rng.choice(["classic", "consumer"])
        member = Member(f"{protocol}-{self.known.next_offset()}", protocol)
        client = self.client(member.group)
        self.known.members.append(member)
        if protocol == "consumer":
            member.member_id = "m"
            beat = self.life.answer(client.beat("m", 0, topics=["in"]))
            assert beat.error_code == Error.NONE
            member.generation = beat.member_epoch
        else:
            member.member_id, joining = client.joined()
            self.life.pass_time(0)
            joined = self.life.answer(joining)
            assert joined.error_code == Error.NONE
            member.generation = joined.generation_id
            synced = self.life.answer(client.sync(member.member_id, member.generation, {member.member_id: b"all"}))
            assert synced.error_code == Error.NONE
        member.present = member.reported = True

    def leave(self, member: Member) -> None:
        member.present = None
        client = self.client(member.group)
        if member.protocol == "consumer":
            assert self.life.answer(client.beat(member.member_id, -1)).error_code == Error.NONE
        else:
            assert self.life.answer(client.leave((member.member_id, None))).error_code == Error.NONE
        member.present = False

    # --- what must hold

    def check(self) -> None:
        """What a restarted broker answers fits what was answered before, and stays the same."""
        self.life.flush_all()
        self.check_transactions()
        self.check_offsets()
        self.check_members()

    def committed_offset(self, group: str, partition: int) -> int | Error:
        return self.client(group).offset("in", partition, stable=True)

    def check_transactions(self) -> None:
        seen, other = (self.life.committed(place) for place in PLACES)
        assert seen == other, "a transaction is visible in part"
        for number, outcome in enumerate(self.known.outcomes):
            if outcome is None:
                self.known.outcomes[number] = number in seen
        assert seen == [number for number, outcome in enumerate(self.known.outcomes) if outcome]
        newest = seen[-1] if seen else -1
        for partition in PARTITIONS:
            assert self.committed_offset("pipe", partition) == newest, "offsets and outputs differ"

    def check_offsets(self) -> None:
        for (group, partition), state in self.known.offsets.items():
            found = self.committed_offset(group, partition)
            assert found in (state.sure, *state.maybe), f"{group}, partition {partition}: {state}"
            assert not isinstance(found, Error)
            state.sure, state.maybe = found, []

    def check_members(self) -> None:
        # Nobody uses a member again that was never told of its place in the group.
        self.known.members = [member for member in self.known.members if member.reported]
        for member in self.known.members:
            found = self.heartbeat(member)
            allowed = {None: {Error.NONE, *GONE}, True: {Error.NONE}, False: GONE}[member.present]
            assert found in allowed, f"{member}: {found.name}"
            member.present = found is Error.NONE

    def heartbeat(self, member: Member) -> Error:
        client = self.client(member.group)
        if member.protocol == "classic":
            return client.heartbeat(member.member_id, member.generation)
        return Error(self.life.answer(client.beat(member.member_id, member.generation)).error_code)


@pytest.mark.parametrize("verification", ["true", "false"])
@pytest.mark.parametrize("seed", range(40))
def test_every_answered_change_of_a_group_survives_a_power_loss(tmp_path: Path, seed: int, verification: str) -> None:
    settings = {"transaction.partition.verification.enable": verification}
    rng = random.Random(seed)
    disk = FaultyDisk()
    known = Known()
    for _ in range(LIVES):
        life = Life(disk, tmp_path / "metadata.sqlite", rng, rng.randint(0, 60), settings)
        try:
            clients = Clients(life, known, rng)
            clients.check()
            while True:
                clients.act()
        except PowerLost:
            disk = life.end()
    life = Life(disk, tmp_path / "metadata.sqlite", rng, 1000, settings)
    Clients(life, known, rng).check()
