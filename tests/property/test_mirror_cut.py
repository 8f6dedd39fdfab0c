"""A cut of the mirror splits no transaction, whenever each partition was looked at, and reaches the end when all is
over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.apps.mirror.cut import CutSample, PartitionView, choose_cut
from oncelog.types import TopicPartition


@dataclass
class Entry:
    """What lies at an offset: a record of transaction ``number``, its marker, a plain record, or a group's offset."""

    kind: str
    producer: int = -1
    epoch: int = -1
    number: int = -1
    names: TopicPartition | None = None
    end: int = 0


@dataclass
class Writer:
    """A transactional producer, and its coordinator: the next transaction begins when all markers are written."""

    producer_id: int
    bumps: bool
    epoch: int = 0
    number: int = -1
    wrote: set[TopicPartition] = field(default_factory=set)
    markers: list[TopicPartition] = field(default_factory=list)
    marker_epoch: int = 0


class World:
    """Partitions of A whose writers do one thing at a time, in a random order."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = [TopicPartition("t", number) for number in range(random.randint(1, 3))]
        self.logs: dict[TopicPartition, list[Entry]] = {name: [] for name in self.names}
        self.writers = [Writer(number, random.random() < 0.5) for number in range(random.randint(1, 3))]
        self.transactions = 0

    def step(self, *, begins: bool = True) -> bool:
        """Do something; returns whether anything was done."""
        random = self.random
        if begins and random.random() < 0.2:
            name = random.choice(self.names)
            other = random.choice(self.names)
            if random.random() < 0.5:
                self.logs[name].append(Entry("plain"))
            else:
                self.logs[name].append(Entry("need", names=other, end=random.randint(0, len(self.logs[other]))))
            return True
        writer = random.choice(self.writers)
        if writer.markers:
            name = writer.markers.pop(random.randrange(len(writer.markers)))
            self.logs[name].append(Entry("marker", writer.producer_id, writer.marker_epoch, writer.number))
            return True
        if writer.number >= 0 and not writer.wrote:
            writer.number = -1
        if writer.wrote and (not begins or random.random() < 0.4):
            writer.markers, writer.wrote = sorted(writer.wrote), set()
            writer.marker_epoch = writer.epoch + writer.bumps
            writer.epoch = writer.marker_epoch
            return True
        if not begins and writer.number < 0:
            return any(other.number >= 0 for other in self.writers)
        if writer.number < 0:
            writer.number = self.transactions
            self.transactions += 1
        name = random.choice(self.names)
        self.logs[name].append(Entry("data", writer.producer_id, writer.epoch, writer.number))
        writer.wrote.add(name)
        return True

    def look(self) -> dict[TopicPartition, int]:
        """The ends of the partitions, each at a moment of its own."""
        ends = {}
        for name in self.random.sample(self.names, len(self.names)):
            for _ in range(self.random.choice((0, 0, 2, 12))):
                self.step()
            ends[name] = len(self.logs[name])
        return ends

    def ends(self) -> dict[TopicPartition, int]:
        return {name: len(log) for name, log in self.logs.items()}

    def scan(self, view: PartitionView, end: int) -> None:
        for offset in range(view.scanned, end):
            entry = self.logs[view.name][offset]
            view.take_data(offset, offset + 1, 200_000)
            if entry.kind == "data":
                view.take_transactional(entry.producer, entry.epoch, offset, offset)
            elif entry.kind == "marker":
                view.take_marker(entry.producer, entry.epoch, offset)
            elif entry.kind == "need" and entry.names is not None:
                view.take_need(offset, entry.names, entry.end)

    def check(self, cut: dict[TopicPartition, int]) -> None:
        below: set[int] = set()
        above: set[int] = set()
        decided: dict[int, bool] = {}
        for name, log in self.logs.items():
            for offset, entry in enumerate(log):
                if entry.kind == "data":
                    (below if offset < cut[name] else above).add(entry.number)
                if entry.kind == "marker":
                    decided[entry.number] = True
                if entry.kind == "need" and entry.names is not None and offset < cut[name]:
                    assert entry.end <= cut[entry.names], "a group's offset is ahead of its records"
        assert not below & above, f"transactions {sorted(below & above)} are split by {cut}"
        assert below <= decided.keys(), "an open transaction is below the cut"


@given(st.integers(0, 2**48), st.booleans())
@settings(max_examples=150)
def test_the_cut_of_a_mirror_splits_no_transaction_and_reaches_the_end(seed: int, bounded: bool) -> None:
    random = Random(seed)
    world = World(random)
    views = {name: PartitionView(name, 0) for name in world.names}
    samples: list[CutSample] = []
    for _ in range(random.randint(1, 8)):
        for _ in range(random.randint(0, 40)):
            world.step()
        go(world, views, samples, bounded=bounded, still_at_work=True)
    while world.step(begins=False):
        pass
    go(world, views, samples, bounded=False, still_at_work=False)
    assert {name: view.position for name, view in views.items()} == {name: len(log) for name, log in world.logs.items()}


def go(
    world: World,
    views: dict[TopicPartition, PartitionView],
    samples: list[CutSample],
    *,
    bounded: bool,
    still_at_work: bool,
) -> None:
    """One round: two looks, a scan that begins after them, a cut; what lies above the cut is looked at again."""
    look = world.look if still_at_work else world.ends
    samples.append(CutSample(look(), look()))
    decided = samples[-1].before
    for name, end in look().items():
        world.scan(views[name], end)
    start = {name: view.boundary(400_000) for name, view in views.items()} if bounded else decided
    cut = choose_cut(views, decided, start, samples)
    world.check(cut)
    for name, view in views.items():
        assert view.position <= cut[name] <= decided[name], "a cut goes on, and never further than was looked at"
        view.move(cut[name])


@given(st.integers(0, 2**48))
@settings(max_examples=50)
def test_a_mirror_of_transactions_of_the_newer_protocol_never_waits_for_ended_transactions(seed: int) -> None:
    """Whatever else continues: if no transaction is open at the first look, the cut is that look."""
    world = World(Random(seed))
    for writer in world.writers:
        writer.bumps = True
    for _ in range(60):
        world.step()
    while world.step(begins=False):
        pass
    decided = {name: len(log) for name, log in world.logs.items()}
    views = {name: PartitionView(name, 0) for name in world.names}
    for _ in range(20):
        world.step()
    for name, view in views.items():
        world.scan(view, len(world.logs[name]))
    cut = choose_cut(views, decided, decided, [])
    world.check(cut)
    assert cut == decided
