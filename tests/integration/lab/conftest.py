"""The browser of the console's tests.

A package-scoped fixture belongs to its conftest's package and is closed after it.
"""

from __future__ import annotations

from tests.integration.console.conftest import browser as browser
