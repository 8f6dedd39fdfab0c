"""The report's drawings, as SVG text. Pure; colours are CSS variables of the page, so that they follow its theme."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

WIDTH = 1000


class Mark(NamedTuple):
    """A vertical line in a plot, with a number and an explanation."""

    at: float
    number: int
    text: str


class ChartBar(NamedTuple):
    """A bar in a row, from ``start`` to ``end``; ``kind`` is its CSS class, one of :data:`_ON_TOP`."""

    start: float
    end: float
    kind: str
    text: str


_ON_TOP = {"committed": 0, "intended": 1, "crashed": 1, "skipped": 2}
"""The kinds of bars in drawing order: rare kinds are drawn last, on top of the others, and wide enough to be seen."""


class Series(NamedTuple):
    """The points of a line, ordered by x; ``kind`` is the CSS class of the line."""

    name: str
    kind: str
    points: Sequence[tuple[float, float]]


class Scale(NamedTuple):
    """A linear scale, which maps values to positions on the canvas."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        return round(self.start + (value - self.low) / span * (self.end - self.start), 2)


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers between ``low`` and ``high`` for the marks of an axis, at most about ``count`` of them."""
    raw = (high - low) / max(1, count) or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((factor * power for factor in (1, 2, 5, 10) if factor * power >= raw), 10 * power)
    first = math.ceil(low / step) * step
    return [first + number * step for number in range(int((high - first) / step + 1e-9) + 1)]


def short(value: float) -> str:
    """12k for 12000."""
    if value >= 1000:
        return f"{value / 1000:g}k"
    return f"{value:g}"


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'


def svg(height: float, parts: Sequence[str], label: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{escape(label)}">' + "".join(parts) + "</svg>"


class Panel:
    """A plot with a time axis shared by all panels of a figure."""

    LEFT, RIGHT = 150.0, WIDTH - 15.0

    def __init__(self, top: float, height: float, seconds: float) -> None:
        self.top = top
        self.bottom = top + height
        self.x = Scale(0, seconds, self.LEFT, self.RIGHT)
        self.parts: list[str] = []

    def title(self, content: str) -> None:
        self.parts.append(text(self.LEFT, self.top - 10, content, "title"))

    def y_axis(self, high: float) -> Scale:
        """Draw the grid lines and numbers of the y axis; returns its scale, from 0 to ``high``."""
        y = Scale(0, high, self.bottom, self.top)
        for value in ticks(0, high, 4):
            self.parts.append(
                f'<line x1="{self.LEFT:g}" x2="{self.RIGHT:g}" y1="{y(value):g}" y2="{y(value):g}" class="grid"/>'
            )
            self.parts.append(text(self.LEFT - 8, y(value) + 4, short(value), "tick", "end"))
        return y

    def x_axis(self) -> None:
        self.parts.append(
            f'<line x1="{self.LEFT:g}" x2="{self.RIGHT:g}" y1="{self.bottom:g}" y2="{self.bottom:g}" class="axis"/>'
        )
        for value in ticks(0, self.x.high, 10):
            self.parts.append(text(self.x(value), self.bottom + 18, f"{value:g} s", "tick", "middle"))

    def marks(self, marks: Sequence[Mark], *, numbered: bool) -> None:
        label = -math.inf
        for mark in marks:
            x = self.x(mark.at)
            label = max(x, label + 19)
            tip = f"<title>{mark.number}: {escape(mark.text)}</title>"
            line = f'<line x1="{x:g}" x2="{x:g}" y1="{self.top:g}" y2="{self.bottom:g}" class="crash">{tip}</line>'
            self.parts.append(line)
            if numbered:
                self.parts.append(
                    f'<circle cx="{label:g}" cy="{self.top + 10:g}" r="8.5" class="crash-dot">{tip}</circle>'
                )
                self.parts.append(text(label, self.top + 14, str(mark.number), "crash-number", "middle"))

    def shade(self, stretches: Sequence[ChartBar]) -> None:
        """Shade the times in which a process was down."""
        for bar in stretches:
            x, end = self.x(bar.start), self.x(min(bar.end, self.x.high))
            self.parts.append(
                f'<rect x="{x:g}" y="{self.top:g}" width="{end - x:g}" height="{self.bottom - self.top:g}" '
                'class="down">'
                f"<title>{escape(bar.text)}</title></rect>"
            )

    def area(self, series: Series, y: Scale) -> None:
        """Draw a step line and fill the area below it."""
        if not series.points:
            return
        path = [f"M{self.x(series.points[0][0]):g},{y(0):g}"]
        for (start, value), (end, _) in zip(series.points, [*series.points[1:], (self.x.high, 0.0)], strict=True):
            path.append(f"L{self.x(start):g},{y(value):g}L{self.x(end):g},{y(value):g}")
        path.append(f"L{self.x(self.x.high):g},{y(0):g}")
        self.parts.append(f'<path d="{"".join(path)}" class="area {series.kind}"/>')

    def steps(self, series: Series, y: Scale) -> None:
        """Draw a line that starts at 0 and steps to the value of each point."""
        path = [f"M{self.x(0):g},{y(0):g}"]
        for at, value in series.points:
            path.append(f"H{self.x(at):g}V{y(value):g}")
        path.append(f"H{self.x(self.x.high):g}")
        self.parts.append(f'<path d="{"".join(path)}" class="line {series.kind}"/>')

    def legend(self, series: Sequence[Series]) -> None:
        x = self.RIGHT
        for one in reversed(series):
            x -= 7.0 * len(one.name) + 26
            self.parts.append(
                f'<rect x="{x:g}" y="{self.top - 19:g}" width="11" height="11" class="swatch {one.kind}"/>'
            )
            self.parts.append(text(x + 16, self.top - 10, one.name, "tick"))

    def lanes(self, lanes: Mapping[str, Sequence[ChartBar]]) -> None:
        """Draw one row of bars for each name."""
        height = (self.bottom - self.top) / max(1, len(lanes))
        for number, (name, bars) in enumerate(lanes.items()):
            y = self.top + number * height
            self.parts.append(text(self.LEFT - 8, y + height / 2 + 4, name, "tick", "end"))
            self.parts.append(
                f'<rect x="{self.LEFT:g}" y="{y + 4:g}" width="{self.RIGHT - self.LEFT:g}" height="{height - 8:g}" '
                'class="lane"/>'
            )
            self.parts += [self._bar(bar, y, height) for bar in sorted(bars, key=lambda bar: _ON_TOP[bar.kind])]

    def _bar(self, bar: ChartBar, y: float, height: float) -> str:
        x, tip = self.x(bar.start), f"<title>{escape(bar.text)}</title>"
        middle = y + height / 2
        if bar.kind == "skipped":
            return f'<path d="M{x:g},{middle - 8:g}l7,8l-7,8l-7,-8z" class="skipped">{tip}</path>'
        width = max(1.2 if bar.kind == "committed" else 2.5, self.x(bar.end) - x)
        return (
            f'<rect x="{x:g}" y="{y + 7:g}" width="{width:g}" height="{height - 14:g}" class="{bar.kind}">{tip}</rect>'
        )


class Cell(NamedTuple):
    """A cell of the heat map; it stays empty if ``value`` is None."""

    value: float | None
    text: str


def heat_map(rows: Sequence[tuple[str, Sequence[Cell]]], columns: Sequence[str], low: float, high: float) -> str:
    """Draw a heat map: rows of coloured cells with their numbers, for instance minutes by airline and hour."""
    left, top, height = 190.0, 26.0, 27.0
    width = (WIDTH - left - 5) / max(1, len(columns))
    parts = [
        text(left + (number + 0.5) * width, top - 9, name, "tick", "middle") for number, name in enumerate(columns)
    ]
    for number, (name, cells) in enumerate(rows):
        y = top + number * height
        parts.append(text(left - 10, y + height / 2 + 4, name, "label", "end"))
        for place, cell in enumerate(cells):
            if cell.value is not None:
                parts.append(_cell(left + place * width, y, width, height, cell, cell.value, low, high))
    return svg(top + len(rows) * height + 6, parts, "departure delay by airline and hour")


def _cell(x: float, y: float, width: float, height: float, cell: Cell, value: float, low: float, high: float) -> str:
    share = min(1.0, max(0.0, (value - low) / ((high - low) or 1.0)))
    ink = "on-dark" if share > 0.55 else "on-light"
    shown = f"{value:.0f}".replace("-0", "0") if abs(value) < 0.5 else f"{value:.0f}"
    return (
        f'<g><title>{escape(cell.text)}</title><rect x="{x + 1:.1f}" y="{y + 1:g}" width="{width - 2:.1f}" '
        f'height="{height - 2:g}" rx="3" fill="{heat_colour(share)}"/><text x="{x + width / 2:.1f}" '
        f'y="{y + height / 2 + 4:g}" class="cell {ink}" text-anchor="middle">{shown}</text></g>'
    )


_HEAT = ((255, 247, 226), (253, 208, 122), (243, 142, 72), (205, 62, 61), (122, 14, 60))


def heat_colour(share: float) -> str:
    """A colour from pale (0) to dark (1)."""
    place = min(1.0, max(0.0, share)) * (len(_HEAT) - 1)
    index = min(int(place), len(_HEAT) - 2)
    part = place - index
    mixed = (round(a + (b - a) * part) for a, b in zip(_HEAT[index], _HEAT[index + 1], strict=True))
    return "#" + "".join(f"{colour:02x}" for colour in mixed)
