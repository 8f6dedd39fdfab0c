"""Draws a trace as a sequence diagram: SVG text with colours for light and dark themes, wide or for a phone. Pure."""

from __future__ import annotations

import textwrap
from html import escape
from typing import NamedTuple

from oncelog.apps.lab.trace import Trace, TraceDelivery, TraceEvent, TraceKind

STYLE = """
.lab{--ink:#1f2328;--soft:#656d76;--line:#c9c6bd;--card:#fff;--note:#f3efe2;--sent:#2f6fb5;--log:#7a5bb5;--bad:#c4314b}
@media(prefers-color-scheme:dark){.lab{--ink:#e8e6e1;--soft:#9aa1a9;--line:#4a515a;--card:#1e2125;--note:#2b2a24;
--sent:#6aa9ec;--log:#ab90e6;--bad:#ff6b81}}
.lab text{font:13px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink);
paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
.lab .lane{font-weight:600}.lab .number{fill:var(--soft);font-size:11px}
.lab .life{stroke:var(--line);stroke-width:1.5}.lab .head{fill:var(--note);stroke:var(--line)}
.lab .head+text,.lab .note-text+text{stroke:none}.lab .note-text{fill:var(--note);stroke:var(--line)}
.lab.phone text{font-size:11px}.lab.phone .lane{font-size:9.3px}
.lab .arrow{stroke:var(--sent);stroke-width:1.8;fill:none}.lab .tip{fill:var(--sent)}
.lab .answer .arrow{stroke-dasharray:6 4}
.lab .log .arrow{stroke:var(--log);stroke-dasharray:2 4}.lab .log .tip{fill:var(--log)}
.lab .refused .arrow,.lab .lost .arrow{stroke:var(--bad)}.lab .refused .tip{fill:var(--bad)}
.lab .refused text,.lab .lost text{fill:var(--bad)}.lab .cross{stroke:var(--bad);stroke-width:2.4}
"""
_LINE, _CHARACTER = 17.0, 6.9


class Layout(NamedTuple):
    """The layout of one drawing."""

    name: str
    width: float
    margin: float
    size: float
    """The size of a character, relative to the usual size."""


WIDE, PHONE = Layout("wide", 1000, 110, 1.0), Layout("phone", 400, 48, 0.85)


def draw(trace: Trace, layout: Layout = WIDE, *, styled: bool = True) -> str:
    """The SVG text of the whole diagram.

    :param styled: include :data:`STYLE`, for a standalone file.
    """
    style = f"<style>{STYLE}</style>" if styled else ""
    lanes = {name: _lane_x(index, len(trace.lanes), layout) for index, name in enumerate(trace.lanes)}
    head = _heads(lanes, layout)
    parts: list[str] = []
    y = 52.0
    for number, event in enumerate(trace.events, 1):
        drawn, height = _event(number, event, lanes, y, layout)
        parts.append(drawn)
        y += height
    lives = [f'<line class="life" x1="{x:g}" x2="{x:g}" y1="34" y2="{y:g}"/>' for x in lanes.values()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lab {layout.name}" '
        f'viewBox="0 0 {layout.width:g} {y + 8:g}" role="img" '
        f'aria-label="{escape(trace.title)}: {len(trace.events)} steps">{style}'
        + "".join([*lives, *head, *parts])
        + "</svg>"
    )


def _lane_x(index: int, count: int, layout: Layout) -> float:
    span = layout.width - 2 * layout.margin
    return round(layout.margin + (span * index / (count - 1) if count > 1 else span / 2), 1)


def _heads(lanes: dict[str, float], layout: Layout) -> list[str]:
    room = (layout.width - 2 * layout.margin) / max(1, len(lanes) - 1)
    parts = []
    for name, x in lanes.items():
        character = _CHARACTER * layout.size * (1.08 if layout is WIDE else 0.9)
        lines = textwrap.wrap(name, int(room / character), break_long_words=False)
        half = min(room / 2 - 1, max(map(len, lines)) * character / 2 + 8, layout.margin - 1)
        height = 8 + 13 * len(lines)
        parts.append(
            f'<rect class="head" x="{x - half:g}" y="{38 - height:g}" width="{2 * half:g}" height="{height:g}" rx="6"/>'
        )
        for line, words in enumerate(lines):
            y = 38 - height + 15 + 13 * line
            parts.append(_text(x, y, words, "middle", "lane"))
    return parts


def _text(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{named}>{escape(words)}</text>'


def _event(number: int, event: TraceEvent, lanes: dict[str, float], y: float, layout: Layout) -> tuple[str, float]:
    """The drawing of an event, whose top is at ``y``, and its height."""
    start, end = lanes[event.source], lanes[event.target]
    character = _CHARACTER * layout.size
    words = event.text
    lines = textwrap.wrap(words, int((layout.width - 48) / character)) or [""]
    width = max(map(len, lines)) * character
    middle = min(max((start + end) / 2, width / 2 + 30), layout.width - width / 2 - 12)
    numeral = _text(2, y + 13, str(number), "start", "number")
    label = "".join(_text(middle, y + 13 + _LINE * index, line, "middle") for index, line in enumerate(lines))
    height = _LINE * len(lines)
    kind = f"{event.kind.value} {event.delivery.value}"
    if start == end:
        box = (
            f'<rect class="note-text" x="{middle - width / 2 - 8:g}" y="{y - 2:g}" width="{width + 16:g}" '
            f'height="{height + 5:g}" rx="5"/>'
        )
        mark = "log" if event.kind is TraceKind.LOG else "note"
        return f'<g class="{mark}">{numeral}{box}{label}</g>', height + 14
    arrow = _arrow(start, end, y + height + 4, event.delivery)
    return f'<g class="{kind}">{numeral}{label}{arrow}</g>', height + 20


def _arrow(start: float, end: float, y: float, delivery: TraceDelivery) -> str:
    if delivery is TraceDelivery.LOST:
        end = start + (end - start) * 0.72
        cross = f"M{end - 6:g},{y - 6:g}l12,12M{end + 6:g},{y - 6:g}l-12,12"
        return f'<path class="arrow" d="M{start:g},{y:g}H{end:g}"/><path class="cross" d="{cross}"/>'
    back = -9 if end > start else 9
    tip = f'<path class="tip" d="M{end:g},{y:g}l{back},-4.5v9z"/>'
    return f'<path class="arrow" d="M{start:g},{y:g}H{end + back:g}"/>{tip}'
