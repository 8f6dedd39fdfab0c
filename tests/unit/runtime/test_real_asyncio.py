"""Names of asyncio that no mock replaces."""

from __future__ import annotations

import asyncio
from unittest import mock

import pytest

from oncelog.runtime import real_asyncio


@pytest.mark.parametrize("name", asyncio.__all__)
def test_a_real_name_is_asyncios_own_and_stays_while_that_is_mocked(name: str) -> None:
    own = getattr(asyncio, name)
    assert getattr(real_asyncio, name) is own
    with mock.patch.object(asyncio, name):
        assert getattr(asyncio, name) is not own
        assert getattr(real_asyncio, name) is own
