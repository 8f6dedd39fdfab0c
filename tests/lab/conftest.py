"""The browser is that of the console's tests. Fixtures of a package are those of its conftest: closed behind it."""

from __future__ import annotations

from tests.console.conftest import browser as browser
