"""The log against a naive model: a plain list of what was written, from which every answer is computed again.

Appends of all kinds, markers, rolls, truncations, clean and unclean restarts and power losses in any order. What the
model cannot know (which batches besides each producer's last one are remembered after a restart) may go either way.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from oncelog.broker.log.partition_log import PartitionLog
from oncelog.errors import Error
from oncelog.records.batch import iter_headers
from oncelog.settings.config import TopicConfig
from oncelog.testing.simulation.disk import FaultyDisk
from tests.unit.broker.log.batches import append, batch, flush, headers, marker, open_log, roll

CONFIG = TopicConfig(index_interval_bytes=150)
PIDS = st.sampled_from([1, 2, 3])


class Item(NamedTuple):
    """A batch in the model's log; ``commit`` is None for data. ``sure``: written since the last restart."""

    base: int
    count: int  # type: ignore[assignment] # a tuple has a method of that name
    pid: int
    epoch: int
    seq: int
    txn: bool
    commit: bool | None = None
    sure: bool = True

    @property
    def next(self) -> int:
        return self.base + self.count

    @property
    def last_seq(self) -> int:
        return self.seq + self.count - 1


class LogMachine(RuleBasedStateMachine):
    """One partition, three producers."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = FaultyDisk()
        self.log: PartitionLog = open_log(self.disk, config=CONFIG)
        self.items: list[Item] = []
        self.high_watermark = 0
        self.flushed = 0

    # --- what the model says

    @property
    def end(self) -> int:
        return self.items[-1].next if self.items else 0

    def of(self, pid: int) -> list[Item]:
        return [item for item in self.items if item.pid == pid]

    def epoch_of(self, pid: int) -> int:
        mine = self.of(pid)
        return mine[-1].epoch if mine else -1

    def in_epoch(self, pid: int) -> list[Item]:
        """The producer's data batches since its epoch last changed."""
        epoch, found = self.epoch_of(pid), []
        for item in reversed(self.of(pid)):
            if item.epoch != epoch:
                break
            if item.commit is None:
                found.append(item)
        return found[::-1]

    def next_seq(self, pid: int) -> int:
        known = self.in_epoch(pid)
        return known[-1].last_seq + 1 if known else 0

    def transactions(self) -> list[tuple[int, int, int | None, bool | None]]:
        """Producer, first offset, marker's offset and outcome of every transaction in the log."""
        found: list[tuple[int, int, int | None, bool | None]] = []
        open_at: dict[int, int] = {}
        for item in self.items:
            if item.commit is None and item.txn:
                open_at.setdefault(item.pid, item.base)
            elif item.commit is not None and item.pid in open_at:
                found.append((item.pid, open_at.pop(item.pid), item.base, item.commit))
        return found + [(pid, first, None, None) for pid, first in open_at.items()]

    def is_open(self, pid: int) -> bool:
        return any(known == pid and end is None for known, _, end, _ in self.transactions())

    def last_stable_offset(self) -> int:
        holding = [first for _, first, end, _ in self.transactions() if end is None or end >= self.high_watermark]
        return min([*holding, self.high_watermark])

    def answers(self, pid: int, epoch: int, seq: int, count: int, txn: bool) -> set[Error | str]:
        """What a producer may be answered."""
        if not self.of(pid):
            return {Error.NONE}
        current, known = self.epoch_of(pid), self.in_epoch(pid)
        for age, item in enumerate(reversed(known[-5:])):
            if (item.epoch, item.seq, item.count) == (epoch, seq, count):
                return {"duplicate"} if item.sure or age == 0 else {"duplicate", Error.OUT_OF_ORDER_SEQUENCE_NUMBER}
        if epoch < current:
            return {Error.INVALID_PRODUCER_EPOCH}
        expected = 0 if epoch > current else self.next_seq(pid)
        if seq != expected:
            return {Error.OUT_OF_ORDER_SEQUENCE_NUMBER}
        if not txn and self.is_open(pid):
            return {Error.INVALID_TXN_STATE}
        return {Error.NONE}

    # --- what happens

    @rule(
        pid=PIDS,
        bump=st.sampled_from([0, 0, 0, 0, 1, -1]),
        gap=st.sampled_from([0, 0, 0, 0, 1, -1, -2, -5]),
        count=st.integers(1, 4),
        txn=st.booleans(),
    )
    def produce(self, pid: int, bump: int, gap: int, count: int, txn: bool) -> None:
        epoch = max(self.epoch_of(pid) + bump, 0)
        next_seq = self.next_seq(pid) if epoch == self.epoch_of(pid) else 0
        self.send(pid, epoch, max(next_seq + gap, 0), count, txn)

    @rule(pid=PIDS, age=st.integers(1, 7), more=st.sampled_from([0, 0, 0, 1]))
    def resend(self, pid: int, age: int, more: int) -> None:
        data = [item for item in self.of(pid) if item.commit is None]
        if len(data) >= age:
            item = data[-age]
            self.send(pid, item.epoch, item.seq, item.count + more, item.txn)

    def send(self, pid: int, epoch: int, seq: int, count: int, txn: bool) -> None:
        allowed = self.answers(pid, epoch, seq, count, txn)
        result = append(self.log, batch(count, pid=pid, epoch=epoch, seq=seq, txn=txn))
        answer = "duplicate" if result.duplicate else result.error
        assert answer in allowed, (answer, allowed, result.message)
        if answer is Error.NONE:
            assert (result.base_offset, result.last_offset) == (self.end, self.end + count - 1)
            self.items.append(Item(self.end, count, pid, epoch, seq, txn))
        elif answer == "duplicate":
            assert any(
                (item.base, item.pid, item.epoch, item.seq, item.count) == (result.base_offset, pid, epoch, seq, count)
                for item in self.items
            )

    @rule(count=st.integers(1, 4))
    def produce_without_identity(self, count: int) -> None:
        assert append(self.log, batch(count)).base_offset == self.end
        self.items.append(Item(self.end, count, -1, -1, -1, False))

    @rule(pid=PIDS, commit=st.booleans(), bump=st.sampled_from([0, 0, 1, -1]))
    def end_transaction(self, pid: int, commit: bool, bump: int) -> None:
        epoch = max(self.epoch_of(pid) + bump, 0)
        result = marker(self.log, pid, epoch=epoch, commit=commit)
        if epoch < self.epoch_of(pid):
            assert result.error is Error.INVALID_PRODUCER_EPOCH
        else:
            assert result.base_offset == self.end
            self.items.append(Item(self.end, 1, pid, epoch, -1, True, commit))

    @rule()
    def roll(self) -> None:
        roll(self.log)

    @rule()
    def sync(self) -> None:
        flush(self.log)
        self.flushed = self.end

    @rule(share=st.floats(0, 1))
    def replicate(self, share: float) -> None:
        bounds = [item.next for item in self.items if item.next > self.high_watermark]
        if bounds:
            self.high_watermark = bounds[int(share * (len(bounds) - 1))]
            assert self.log.maybe_advance_high_watermark(self.high_watermark)

    @precondition(lambda self: len(self.items) > 2)
    @rule(share=st.floats(0.5, 1))
    def truncate(self, share: float) -> None:
        bounds = [item.base for item in self.items]
        self.cut(bounds[int(share * (len(bounds) - 1))])
        self.log.trimmer.truncate_to(self.end)
        self.high_watermark = min(self.high_watermark, self.end)
        self.flushed = min(self.flushed, self.end)

    def cut(self, offset: int) -> None:
        """The model keeps what is below ``offset``, and is no longer sure what is remembered."""
        self.items = [item._replace(sure=False) for item in self.items if item.base < offset]

    @rule()
    def restart(self) -> None:
        self.log.close()
        self.reopened(open_log(self.disk, clean=True, config=CONFIG))

    @rule()
    def crash(self) -> None:
        point = self.log.files.recovery_point
        self.log.close(clean=False)
        self.reopened(open_log(self.disk, recovery_point=point, config=CONFIG))

    @rule(seed=st.integers(0, 2**32))
    def lose_power(self, seed: int) -> None:
        point = self.log.files.recovery_point
        self.disk = self.disk.crash(random.Random(seed))
        log = open_log(self.disk, recovery_point=point, config=CONFIG)
        assert self.flushed <= log.log_end_offset <= self.end
        self.cut(log.log_end_offset)
        self.reopened(log)

    def reopened(self, log: PartitionLog) -> None:
        self.log = log
        self.cut(self.end)
        flush(log)
        self.flushed = self.high_watermark = self.end
        log.maybe_advance_high_watermark(self.end)

    # --- what must hold

    @invariant()
    def bounds_agree(self) -> None:
        assert self.log.log_end_offset == self.end
        assert self.log.high_watermark == self.high_watermark
        assert self.log.last_stable_offset == self.last_stable_offset()

    @invariant()
    def producers_agree(self) -> None:
        producers = {entry.producer_id: entry for entry in self.log.active_producers()}
        assert sorted(producers) == sorted({item.pid for item in self.items if item.pid >= 0})
        for pid, entry in producers.items():
            known = self.in_epoch(pid)
            assert entry.producer_epoch == self.epoch_of(pid)
            assert entry.last_sequence == (known[-1].last_seq if known else -1)
            first = [begin for owner, begin, end, _ in self.transactions() if owner == pid and end is None]
            assert entry.current_txn_first_offset == (first[0] if first else -1)

    @rule()
    def everything_is_there(self) -> None:
        found = [(h.base_offset, h.next_offset, h.producer_id, h.base_sequence) for h in headers(self.log)]
        assert found == [(item.base, item.next, item.pid, item.seq) for item in self.items]

    @rule(max_bytes=st.integers(1, 1500), start=st.floats(0, 1))
    def read_committed(self, max_bytes: int, start: float) -> None:
        """Fetch after fetch, as a consumer that filters by the aborted transactions of each answer."""
        bound = self.last_stable_offset()
        offset = first = int(start * bound)
        aborted_bases = {
            item.base
            for pid, begin, end, commit in self.transactions()
            if commit is False
            for item in self.items
            if item.pid == pid and item.txn and end is not None and begin <= item.base < end
        }
        expected = [
            item.base
            for item in self.items
            if item.commit is None and first < item.next <= bound and item.base not in aborted_bases
        ]
        delivered = []
        while offset < bound:
            read = self.log.read(offset, max_bytes, bound, at_least_one_batch=True)
            assert not isinstance(read, Error)
            assert read.size_bytes, f"nothing at {offset}, below {bound}"
            data = b"".join(chunk.read_bytes() for chunk in read.slices)
            pending = sorted(
                (begin, pid) for pid, begin in self.log.aborted_transactions(offset, read.upper_bound_offset)
            )
            active: set[int] = set()
            for _, header in iter_headers(data):
                while pending and pending[0][0] <= header.last_offset:
                    active.add(pending.pop(0)[1])
                if header.is_control:
                    item = next(item for item in self.items if item.base == header.base_offset)
                    if item.commit is False:
                        active.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in active):
                    delivered.append(header.base_offset)
                offset = header.next_offset
        assert delivered == expected
        assert offset == max(bound, first)


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=30, stateful_step_count=50, deadline=None)
