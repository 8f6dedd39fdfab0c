"""How the entry point reads its arguments."""

from __future__ import annotations

import pytest

from oncelog.cli.main import _without_debug


@pytest.mark.parametrize(
    ("given", "kept", "debug"),
    [
        (["--debug", "topics", "list"], ["topics", "list"], True),
        (["topics", "list", "--debug"], ["topics", "list"], True),
        (["topics", "list"], ["topics", "list"], False),
        (["topics", "create", "--", "--debug"], ["topics", "create", "--", "--debug"], False),
    ],
)
def test_debug_may_stand_anywhere_before_the_double_dash(given: list[str], kept: list[str], debug: bool) -> None:
    assert _without_debug(given) == (kept, debug)
