"""A partition drawn as a chart of its offsets: ranges that are committed, aborted or open, and the positions of groups.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from oncelog.client.aio.admin.log_reader import DecidedBatch, RecordOutcome

WIDTH = 1000
MAX_SEGMENTS = 500
"""With more segments than this, neighbouring segments with the same outcome are drawn as one, even if different
producers wrote them."""


class ChartSegment(NamedTuple):
    """Offsets from ``start`` up to but not including ``end``, with one outcome and one producer (-1 if there are
    several or it is unknown)."""

    start: int
    end: int
    outcome: RecordOutcome
    producer_id: int
    producer_epoch: int


class SegmentBar(NamedTuple):
    """A segment as a bar of the chart: its left edge and its width in the drawing."""

    x: float
    width: float
    segment: ChartSegment


class Pin(NamedTuple):
    """A group's position in the drawing; ``row`` keeps labels apart, ``anchor`` keeps them inside the drawing. A long
    name is cut in its label."""

    x: float
    name: str
    label: str
    offset: int
    row: int
    anchor: str


@dataclass(frozen=True, slots=True)
class OffsetChart:
    """The drawing."""

    start: int
    end: int
    bars: list[SegmentBar]
    markers: list[SegmentBar]
    pins: list[Pin]
    rows: int

    def x(self, offset: int) -> float:
        return _x(offset, self.start, self.end)


def segments(batches: Iterable[DecidedBatch]) -> list[ChartSegment]:
    """Segments from batches in order of offsets; neighbours of one outcome and producer are joined."""
    found: list[ChartSegment] = []
    for (header, _, control), outcome in batches:
        one = ChartSegment(header.base_offset, header.next_offset, outcome, header.producer_id, header.producer_epoch)
        last = found[-1] if found else None
        same = last is not None and control is None and last.end == one.start and last[2:] == one[2:]
        if last is not None and same:
            found[-1] = last._replace(end=one.end)
        else:
            found.append(one)
    return found


def draw(found: list[ChartSegment], start: int, end: int, positions: Mapping[str, int]) -> OffsetChart:
    """The segments and the groups' positions between two offsets."""
    inside = [one._replace(start=max(one.start, start), end=min(one.end, end)) for one in found]
    inside = [one for one in inside if one.start < one.end]
    data = [
        one
        for one in inside
        if one.outcome not in (RecordOutcome.COMMIT_MARKER, RecordOutcome.ABORT_MARKER, RecordOutcome.CONTROL)
    ]
    if len(data) > MAX_SEGMENTS:
        data = _coarse(data, start, end)
    markers = [one for one in inside if one.outcome in (RecordOutcome.COMMIT_MARKER, RecordOutcome.ABORT_MARKER)]
    return OffsetChart(
        start,
        end,
        [_bar(one, start, end) for one in data],
        list({(round(bar.x), bar.segment.outcome): bar for bar in (_bar(one, start, end) for one in markers)}.values()),
        *_pins(positions, start, end),
    )


def _coarse(data: list[ChartSegment], start: int, end: int) -> list[ChartSegment]:
    """Merge segments until each pixel has at most one segment of each outcome; smaller ones could not be
    distinguished."""
    by_pixel: dict[tuple[int, RecordOutcome], ChartSegment] = {}
    for one in data:
        key = (round(_x(one.start, start, end)), one.outcome)
        known = by_pixel.get(key)
        by_pixel[key] = one if known is None else known._replace(end=one.end, producer_id=-1)
    joined: list[ChartSegment] = []
    for one in by_pixel.values():
        if joined and joined[-1].outcome is one.outcome and joined[-1].end >= one.start - 1:
            joined[-1] = joined[-1]._replace(end=one.end, producer_id=-1)
        else:
            joined.append(one)
    return joined


def _bar(one: ChartSegment, start: int, end: int) -> SegmentBar:
    left, right = _x(one.start, start, end), _x(one.end, start, end)
    return SegmentBar(left, max(0.8, right - left), one)


def _x(offset: int, start: int, end: int) -> float:
    return round(WIDTH * (min(max(offset, start), end) - start) / max(1, end - start), 1)


def _pins(positions: Mapping[str, int], start: int, end: int) -> tuple[list[Pin], int]:
    """The groups' positions as pins, each with its label in the first row where the label overlaps no other, and the
    number of rows."""
    ends: list[float] = []
    pins: list[Pin] = []
    for name, offset in sorted(positions.items(), key=lambda item: (item[1], item[0])):
        x = _x(offset, start, end)
        label = name if len(name) <= 32 else name[:31] + "…"
        width = 6.5 * len(label) + 14
        anchor = "end" if x + width > WIDTH else "start"
        left = x - width if anchor == "end" else x
        row = next((number for number, right in enumerate(ends) if right <= left), len(ends))
        if row == len(ends):
            ends.append(0.0)
        ends[row] = left + width
        pins.append(Pin(x, name, label, offset, row, anchor))
    return pins, len(ends)
