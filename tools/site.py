"""A MkDocs hook that removes the roles of references in docstrings."""

from __future__ import annotations

import re
from typing import Any

ROLE = re.compile(r":(?:meth|class|func|attr|mod|exc):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Called by MkDocs with each page's HTML."""
    return ROLE.sub("", html)
