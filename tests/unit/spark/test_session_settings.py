"""The settings that a session gets without being asked."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from oncelog.spark import session


@pytest.mark.parametrize(
    ("has", "master", "expected"),
    [
        (True, "local[2]", "true"),
        (True, "spark://host:7077", "true"),
        (True, "yarn", None),
        (False, "local[2]", None),
    ],
)
def test_workers_are_reached_through_unix_sockets_where_spark_and_their_paths_allow_it(
    monkeypatch: pytest.MonkeyPatch, has: bool, master: str, expected: str | None
) -> None:
    monkeypatch.setattr(session, "HAS_UNIX_SOCKETS", has)
    assert session._settings_for(master).get(session.UNIX_SOCKETS) == expected
