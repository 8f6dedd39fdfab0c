"""Writes one HTML file with the diagrams of stories, without scripts, fonts or pictures from elsewhere.

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
from oncelog.lab.diagram import PHONE, STYLE, WIDE, draw
from oncelog.lab.story import Story, log_lines

_BROKEN = ' class="broken"'


def write_page(stories: Sequence[Story], path: Path) -> None:
    """Write the page; creates its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(stories), encoding="utf-8")


def render(stories: Sequence[Story]) -> str:
    """The page as HTML."""
    template = Template(files("oncelog.lab").joinpath("page.html").read_text(encoding="utf-8"))
    one = len(stories) == 1
    links = "".join(f'<a href="#{story.name}">{escape(story.title)}</a>' for story in stories)
    return template.substitute(
        title=escape(stories[0].title if one else "Exactly once, on the wire"),
        subtitle=escape(f"Run on {stories[0].broker}; every arrow is a message seen by a proxy."),
        style=STYLE,
        contents="" if one else f"<nav>{links}</nav>",
        flows="".join(_section(story, with_title=not one) for story in stories),
        footer=escape(f"oncelog {__version__}, Python {platform.python_version()}"),
    )


def _section(story: Story, *, with_title: bool) -> str:
    title = f"<h2>{escape(story.title)}</h2>" if with_title else ""
    wide, phone = draw(story, WIDE, styled=False), draw(story, PHONE, styled=False)
    promises = "".join(
        f"<li{'' if promise.held else _BROKEN}>{escape(promise.text)}</li>" for promise in story.promises
    )
    log = escape("\n".join(log_lines(story.log)))
    left_out = ", ".join(f"{api} {count}" for api, count in sorted(story.left_out.items()))
    return (
        f'<section id="{story.name}">{title}<p>{escape(story.lesson)}</p>{wide}{phone}'
        f"<h3>Content of {escape(story.topic)}-0 at the end</h3><pre>{log}</pre>"
        f"<h3>Promises</h3><ul>{promises}</ul>"
        + (f'<h3>Requests not drawn</h3><p class="soft">{escape(left_out)}</p>' if left_out else "")
        + "</section>"
    )
