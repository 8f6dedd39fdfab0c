"""What is imported with a coordinator's topic is named by strings, which no type checker follows."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from oncelog.broker.core.coordination.coordinators import IMPORTED_APART


@pytest.mark.parametrize("topic", IMPORTED_APART)
def test_modules_listed_for_separate_import_exist(topic: str) -> None:
    assert [name for name in IMPORTED_APART[topic] if find_spec(name) is None] == []
