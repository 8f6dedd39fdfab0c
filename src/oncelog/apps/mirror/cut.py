"""Chooses the cut of a mirror's round: a vector of offsets, one for each partition, that splits no transaction of the
source. Pure.

Called by :mod:`oncelog.apps.mirror.run`. A transaction is *below* a cut on a partition if the offsets of all its
records there are below the cut's offset, and *above* if none is. A cut is consistent if every transaction is either
decided and below it on every partition where it has records, or above it on all of them. Facts about the source:

- The ends of partitions are read one after another, never all at one moment. The mirror therefore reads them twice, the
  second time only after the first reading has finished. A transaction with a marker below an end of the first reading
  was decided by then, so all its records lie below the ends of the second reading. Only such transactions may lie below
  a cut.
- If the producer's epoch rises with each transaction (KIP-890), or a marker has a new epoch, producer id and epoch
  identify the transaction on every partition.
- In the older protocol one epoch has many transactions, and no log shows which of them on two partitions belong
  together. If the producer wrote nothing between the two readings, both show its state at one moment. If it had no open
  transaction at that moment, all its earlier transactions were complete; if a transaction was open in every partition
  to which it had written, all its transactions but that one were complete. Such moments divide its records into blocks,
  and a block is treated as one transaction. On a single partition each transaction is identified by itself.
- A group's offset is copied only together with all records before it, so that it points to the same record on the
  target.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from oncelog.types import TopicPartition

UNDECIDED = -1
_CHECKPOINT_BYTES = 256 * 1024

Offsets: TypeAlias = Mapping[TopicPartition, int]
ProducerEpoch: TypeAlias = tuple[int, int]


class CutSample(NamedTuple):
    """The end offsets of all partitions, read twice: the reads of ``after`` began when all reads of ``before`` had
    ended.
    """

    before: Offsets
    after: Offsets


class CutTransaction:
    """One transaction on one partition, with the offsets of its first record, its last record and its marker."""

    __slots__ = ("_more", "epoch", "first", "last", "marker", "producer_id", "same_epoch")

    def __init__(self, producer_id: int, epoch: int, first: int, last: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.first = first
        self.last = last
        self.marker = UNDECIDED
        self.same_epoch = False
        """Whether the transaction's marker shows that the epoch stays the same, as in the older protocol."""
        self._more: array[int] | None = None

    def extend(self, base_offset: int, last_offset: int) -> None:
        """Add another batch."""
        if self._more is None:
            self._more = array("q")
        self._more.append(base_offset)
        self.last = last_offset

    def wrote_within(self, begin: int, end: int) -> bool:
        """Whether the first offset of a batch of the transaction, or its marker's offset, is at least ``begin`` and
        below ``end``."""
        if begin <= self.first < end or begin <= self.marker < end:
            return True
        if self._more is None:
            return False
        index = bisect_left(self._more, begin)
        return index < len(self._more) and self._more[index] < end


class OffsetDependency(NamedTuple):
    """A batch of group offsets at ``offset``. The batch may lie below a cut only if the records of ``partition`` before
    ``end`` also lie below it.
    """

    offset: int
    partition: TopicPartition
    end: int


class PartitionView:
    """The part of a source partition that the mirror has scanned, from ``position`` (everything before it is mirrored)
    to ``scanned``."""

    def __init__(self, name: TopicPartition, position: int) -> None:
        self.name = name
        self.position = position
        self.scanned = position
        self.transactions: list[CutTransaction] = []
        self.needs: list[OffsetDependency] = []
        self._open: dict[int, CutTransaction] = {}
        self._sizes: list[tuple[int, int]] = []
        self._size_bytes = 0

    def take_data(self, base_offset: int, next_offset: int, size_bytes: int) -> None:
        """Add the next batch, whether it contains records or a marker."""
        self.scanned = next_offset
        self._size_bytes += size_bytes
        if not self._sizes or self._size_bytes - self._sizes[-1][1] >= _CHECKPOINT_BYTES:
            self._sizes.append((next_offset, self._size_bytes))

    def take_transactional(self, producer_id: int, epoch: int, base_offset: int, last_offset: int) -> None:
        """Add a batch with records of a transaction, which begins with its first batch."""
        current = self._open.get(producer_id)
        if current is not None and current.epoch == epoch:
            current.extend(base_offset, last_offset)
            return
        # Still open with an earlier epoch: compaction removed the marker, but the later epoch shows that it has ended.
        if current is not None:
            current.marker = base_offset
        self._open[producer_id] = current = CutTransaction(producer_id, epoch, base_offset, last_offset)
        self.transactions.append(current)

    def take_marker(self, producer_id: int, epoch: int, offset: int) -> None:
        """Add a commit or abort marker, which ends the producer's open transaction."""
        current = self._open.pop(producer_id, None)
        if current is not None:
            current.marker = offset
            current.same_epoch = epoch == current.epoch

    def take_need(self, offset: int, partition: TopicPartition, end: int) -> None:
        """Add a dependency: the batch at ``offset`` contains a group's committed offset ``end`` in another
        partition.
        """
        self.needs.append(OffsetDependency(offset, partition, end))

    def settle(self, last_stable_offset: int) -> None:
        """End open transactions that begin below the last stable offset; compaction has removed their markers.

        :param last_stable_offset: the one that the broker reported together with the end of the scan.
        """
        for producer_id, current in list(self._open.items()):
            if current.first < last_stable_offset:
                current.marker = max(current.last, last_stable_offset - 1)
                del self._open[producer_id]

    def open_transactions(self) -> Iterable[CutTransaction]:
        """The transactions without a marker up to the end of the scan."""
        return self._open.values()

    def boundary(self, size_bytes: int) -> int:
        """The end of a batch that is about ``size_bytes`` after the mirrored position, or the end of the scanned part
        if less remains."""
        begin = bisect_left(self._sizes, (self.position + 1, 0))
        for offset, total in self._sizes[begin:]:
            if total - self._passed(begin) >= size_bytes:
                return offset
        return self.scanned

    def _passed(self, begin: int) -> int:
        return self._sizes[begin - 1][1] if begin else 0

    def move(self, position: int) -> None:
        """Set the mirrored position: everything before ``position`` is mirrored."""
        self.position = position
        self.scanned = max(self.scanned, position)
        self.transactions = [item for item in self.transactions if item.first >= position]
        self.needs = [need for need in self.needs if need.offset >= position]
        kept = max(0, bisect_left(self._sizes, (position + 1, 0)) - 1)
        del self._sizes[:kept]


class _CutUnit:
    """Records that must be on the same side of a cut: the first and last offset on each partition. ``whole`` is false
    if they must not lie below a cut yet."""

    __slots__ = ("extents", "whole")

    def __init__(self, extents: Mapping[TopicPartition, tuple[int, int]], whole: bool) -> None:
        self.extents = extents
        self.whole = whole


_Parts: TypeAlias = dict[TopicPartition, list[CutTransaction]]


def choose_cut(
    views: Mapping[TopicPartition, PartitionView],
    decided: Offsets,
    start: Offsets,
    samples: Sequence[CutSample],
) -> dict[TopicPartition, int]:
    """The furthest consistent cut between the views' positions and ``start``.

    :param decided: the ends of all partitions, read before the views were scanned. A partition without an end here was
        not known at that time.
    :param start: the furthest offset that the cut may have on each partition, an end of a batch; ``decided`` limits it,
        too.
    :param samples: the samples that divide transactions of the older protocol, in order; no sample is later than the
        ends of the views.
    """
    cut = {
        name: max(view.position, min(start.get(name, 0), decided.get(name, 0), view.scanned))
        for name, view in views.items()
    }
    limits: dict[TopicPartition, list[tuple[int, list[tuple[TopicPartition, int]]]]] = {name: [] for name in views}
    pending: dict[TopicPartition, None] = dict.fromkeys(views)

    def lower(effects: Iterable[tuple[TopicPartition, int]]) -> None:
        for name, offset in effects:
            if offset < cut[name]:
                cut[name] = offset
                pending[name] = None

    for unit in _units(views, cut, decided, samples):
        effects = [(name, first) for name, (first, _) in unit.extents.items()]
        if unit.whole:
            for name, (_, last) in unit.extents.items():
                limits[name].append((last, effects))
        else:
            lower(effects)
    for name, view in views.items():
        for need in view.needs:
            if need.offset >= cut[name]:
                break
            wanted = views.get(need.partition)
            if wanted is not None and wanted.position < need.end <= wanted.scanned:
                limits[need.partition].append((need.end - 1, [(name, need.offset)]))
    for entries in limits.values():
        entries.sort(key=lambda entry: entry[0])
    while pending:
        name, _ = pending.popitem()
        entries = limits[name]
        while entries and entries[-1][0] >= cut[name]:
            lower(entries.pop()[1])
    return cut


def _units(
    views: Mapping[TopicPartition, PartitionView],
    cut: Offsets,
    decided: Offsets,
    samples: Sequence[CutSample],
) -> Iterator[_CutUnit]:
    """Each group of transactions that has records below ``cut`` on some partition, and that no cut may split."""
    touched: dict[ProducerEpoch, _Parts] = {}
    for name, view in views.items():
        for item in view.transactions:
            if item.first >= cut[name]:
                break
            touched.setdefault((item.producer_id, item.epoch), {})
    for name, view in views.items():
        for item in view.transactions:
            parts = touched.get((item.producer_id, item.epoch))
            if parts is not None:
                parts.setdefault(name, []).append(item)
    for parts in touched.values():
        if any(len(items) > 1 or items[0].same_epoch for items in parts.values()):
            yield from _older_units(parts, decided, samples)
        else:
            ended = all(items[0].marker != UNDECIDED for items in parts.values())
            yield _CutUnit(_extents(parts), ended and _decided(parts, decided))


def _decided(parts: _Parts, decided: Offsets) -> bool:
    """Whether a marker of the transaction is below the ends that were read before the scan."""
    return any(item.marker != UNDECIDED and item.marker < decided.get(name, 0) for name, (item, *_) in parts.items())


def _extents(parts: _Parts) -> dict[TopicPartition, tuple[int, int]]:
    return {name: (items[0].first, items[-1].last) for name, items in parts.items()}


def _older_units(parts: _Parts, decided: Offsets, samples: Sequence[CutSample]) -> Iterator[_CutUnit]:
    """Divide transactions that share a producer epoch into blocks: a block ends at each moment when all earlier
    transactions are known to be complete.
    """
    if len(parts) == 1:
        ((name, items),) = parts.items()
        for item in items:
            whole = UNDECIDED < item.marker < decided.get(name, 0)
            yield _CutUnit({name: (item.first, item.last)}, whole)
        return
    begin = dict.fromkeys(parts, 0)
    """For each partition, the index of the first transaction after the last moment at which all earlier ones were
    complete."""
    for sample in samples:
        end = _complete_at(parts, begin, sample)
        if end is None:
            continue
        block = {name: items[begin[name] : end[name]] for name, items in parts.items()}
        yield from _block({name: items for name, items in block.items() if items}, whole=True)
        begin = end
    rest = {name: items[begin[name] :] for name, items in parts.items()}
    yield from _block({name: items for name, items in rest.items() if items}, whole=False)


def _block(parts: _Parts, *, whole: bool) -> Iterator[_CutUnit]:
    if parts:
        yield _CutUnit(_extents(parts), whole)


def _complete_at(
    parts: _Parts, begin: Mapping[TopicPartition, int], sample: CutSample
) -> dict[TopicPartition, int] | None:
    """The number of transactions on each partition that were complete at the sample's moment; None if the sample does
    not show that."""
    end: dict[TopicPartition, int] = {}
    opened: list[TopicPartition] = []
    wrote = 0
    for name, items in parts.items():
        if name not in sample.before:
            return None
        before, after = sample.before[name], sample.after[name]
        count = bisect_left(items, before, lo=begin[name], key=lambda item: item.first)
        if any(item.wrote_within(before, after) for item in items[max(0, count - 1) : count + 1]):
            return None
        end[name] = count
        if count == begin[name]:
            continue
        wrote += 1
        marker = items[count - 1].marker
        if marker == UNDECIDED or marker >= before:
            opened.append(name)
            end[name] = count - 1
    return end if len(opened) in (0, wrote) else None


__all__ = ["UNDECIDED", "CutSample", "CutTransaction", "OffsetDependency", "PartitionView", "choose_cut"]
