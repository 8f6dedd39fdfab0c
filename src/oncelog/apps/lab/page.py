"""Writes one HTML file with the diagrams of traces, without scripts, fonts or pictures from elsewhere.

Called by ``oncelog lab``.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from oncelog import __version__
from oncelog.apps.lab.diagram import PHONE, STYLE, WIDE, draw
from oncelog.apps.lab.trace import Trace, log_lines

_BROKEN = ' class="broken"'


def write_page(traces: Sequence[Trace], path: Path) -> None:
    """Write the page; creates its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(traces), encoding="utf-8")


def render(traces: Sequence[Trace]) -> str:
    """The page as HTML."""
    template = Template(files("oncelog.apps.lab").joinpath("page.html").read_text(encoding="utf-8"))
    one = len(traces) == 1
    links = "".join(f'<a href="#{trace.name}">{escape(trace.title)}</a>' for trace in traces)
    return template.substitute(
        title=escape(traces[0].title if one else "Exactly once, on the wire"),
        subtitle=escape(f"Run on {traces[0].broker}; every arrow is a message seen by a proxy."),
        style=STYLE,
        contents="" if one else f"<nav>{links}</nav>",
        flows="".join(_section(trace, with_title=not one) for trace in traces),
        footer=escape(f"oncelog {__version__}, Python {platform.python_version()}"),
    )


def _section(trace: Trace, *, with_title: bool) -> str:
    title = f"<h2>{escape(trace.title)}</h2>" if with_title else ""
    wide, phone = draw(trace, WIDE, styled=False), draw(trace, PHONE, styled=False)
    promises = "".join(
        f"<li{'' if promise.held else _BROKEN}>{escape(promise.text)}</li>" for promise in trace.promises
    )
    log = escape("\n".join(log_lines(trace.log)))
    left_out = ", ".join(f"{api} {count}" for api, count in sorted(trace.left_out.items()))
    return (
        f'<section id="{trace.name}">{title}<p>{escape(trace.lesson)}</p>{wide}{phone}'
        f"<h3>Content of {escape(trace.topic)}-0 at the end</h3><pre>{log}</pre>"
        f"<h3>Promises</h3><ul>{promises}</ul>"
        + (f'<h3>Requests not drawn</h3><p class="soft">{escape(left_out)}</p>' if left_out else "")
        + "</section>"
    )
