"""What the shuffle of encoded batches keeps between batches."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from oncelog.spark.executors import shuffle


def test_session_for_shuffled_batches_is_found_by_queries_that_look_for_it_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Raced(dict[str, Any]):
        """Another query's thread clears the table as soon as something is put into it, to put its own there."""

        def __setitem__(self, application: str, session: Any) -> None:
            super().__setitem__(application, session)
            self.clear()

    monkeypatch.setattr(shuffle, "_plain", Raced())
    made = Mock()
    assert shuffle._plain_session(made) is made.newSession.return_value
