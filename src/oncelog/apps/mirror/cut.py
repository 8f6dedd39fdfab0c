"""The end of a mirror's round: a vector of offsets that splits no transaction of the source. Pure.

Called by :mod:`oncelog.apps.mirror.run`. A transaction is *below* a cut on a partition if all its records there are,
*above* if none is. A cut is consistent if each transaction is below it wherever it has records, and decided, or above
it everywhere. Facts about the source:

- Offsets are read partition by partition, never all at one moment. But a transaction that was decided when the first
  look ended (one of its markers lies below that look's offsets) had already written all its records, so a second look,
  which begins after the first one has ended, sees all of it. Only such transactions may lie below a cut.
- If the producer's epoch rises with each transaction (KIP-890), or a marker carries a new epoch, producer id and epoch
  identify the transaction on every partition.
- In the older protocol one epoch has many transactions, and no log says which of them on two partitions are the same.
  If two consecutive looks show nothing written by the producer in between, its state between them is that of a single
  moment. If it had no open transaction then, everything it had written was complete; if it had one open wherever it
  wrote, everything except that was complete. Such moments divide its records into blocks, and a block is treated as
  one transaction. On a single partition each transaction is identified by itself.
- A group's offset is carried over only with all records before it, so that it points to the same record on the target.
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
    """The ends of all partitions, read twice: each read of ``after`` began when all of ``before`` had ended."""

    before: Offsets
    after: Offsets


class CutTransaction:
    """One transaction on one partition: the offsets of its first and last record and of its marker."""

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
        """Whether a batch or the marker begins from ``begin`` to before ``end``."""
        if begin <= self.first < end or begin <= self.marker < end:
            return True
        if self._more is None:
            return False
        index = bisect_left(self._more, begin)
        return index < len(self._more) and self._more[index] < end


class OffsetDependency(NamedTuple):
    """A batch of group offsets: it may be below a cut only together with the records before these offsets."""

    offset: int
    partition: TopicPartition
    end: int


class PartitionView:
    """The scanned part of a partition of the source, from ``position`` (mirrored up to there) to ``scanned``."""

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
        """Take the next batch, of any kind."""
        self.scanned = next_offset
        self._size_bytes += size_bytes
        if not self._sizes or self._size_bytes - self._sizes[-1][1] >= _CHECKPOINT_BYTES:
            self._sizes.append((next_offset, self._size_bytes))

    def take_transactional(self, producer_id: int, epoch: int, base_offset: int, last_offset: int) -> None:
        """Take records of a transaction."""
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
        """Take a commit or abort marker."""
        current = self._open.pop(producer_id, None)
        if current is not None:
            current.marker = offset
            current.same_epoch = epoch == current.epoch

    def take_need(self, offset: int, partition: TopicPartition, end: int) -> None:
        """Note that the batch at ``offset`` stores a group's offset ``end`` in another partition."""
        self.needs.append(OffsetDependency(offset, partition, end))

    def settle(self, last_stable_offset: int) -> None:
        """End transactions that begin below the last stable offset, even if compaction has removed their markers.

        :param last_stable_offset: as reported with the end up to which was scanned.
        """
        for producer_id, current in list(self._open.items()):
            if current.first < last_stable_offset:
                current.marker = max(current.last, last_stable_offset - 1)
                del self._open[producer_id]

    def open_transactions(self) -> Iterable[CutTransaction]:
        """The transactions without a marker up to the end of the scan."""
        return self._open.values()

    def boundary(self, size_bytes: int) -> int:
        """The end of a batch about ``size_bytes`` further on, or the end of the scanned part if there is less."""
        begin = bisect_left(self._sizes, (self.position + 1, 0))
        for offset, total in self._sizes[begin:]:
            if total - self._passed(begin) >= size_bytes:
                return offset
        return self.scanned

    def _passed(self, begin: int) -> int:
        return self._sizes[begin - 1][1] if begin else 0

    def move(self, position: int) -> None:
        """Note that everything before ``position`` is mirrored."""
        self.position = position
        self.scanned = max(self.scanned, position)
        self.transactions = [item for item in self.transactions if item.first >= position]
        self.needs = [need for need in self.needs if need.offset >= position]
        kept = max(0, bisect_left(self._sizes, (position + 1, 0)) - 1)
        del self._sizes[:kept]


class _CutUnit:
    """Records that can only be below a cut together: first and last offset by partition."""

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
    """The furthest consistent cut that is at or below ``start``, and at or above the views' positions.

    :param decided: the ends of all partitions, read before any view was last scanned to its end at that time. A
        partition that is missing was not known then.
    :param start: how far a cut may go, at most ``decided``; ends of batches.
    :param samples: for the older protocol; in order, and none after the views' ends.
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
    """Every block that has records below ``cut`` on some partition."""
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
    """Whether one of the markers is below the ends that were read first."""
    return any(item.marker != UNDECIDED and item.marker < decided.get(name, 0) for name, (item, *_) in parts.items())


def _extents(parts: _Parts) -> dict[TopicPartition, tuple[int, int]]:
    return {name: (items[0].first, items[-1].last) for name, items in parts.items()}


def _older_units(parts: _Parts, decided: Offsets, samples: Sequence[CutSample]) -> Iterator[_CutUnit]:
    """Transactions that share an epoch, divided wherever the boundary is certain."""
    if len(parts) == 1:
        ((name, items),) = parts.items()
        for item in items:
            whole = UNDECIDED < item.marker < decided.get(name, 0)
            yield _CutUnit({name: (item.first, item.last)}, whole)
        return
    begin = dict.fromkeys(parts, 0)
    """Index of the first transaction after the last moment at which everything was complete."""
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
    """How many transactions of each partition were complete everywhere at the sample's moment; None if unknown."""
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
