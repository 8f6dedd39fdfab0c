"""Reads the newest commits of a Delta table's log: what oncelog's sinks stored in those that still count.

Called by :mod:`oncelog.spark.tables.lake.delta`. RESTORE and REPLACE TABLE remove files and do not change application
transactions (delta-io/delta#1813), so the transactions alone would count batches whose rows are gone. Pure: the caller
reads the files.

The files are read here, since the library's ``history`` fails as a whole at a commit that it does not understand:
CONVERT TO DELTA and CLONE write -1 as ``readVersion``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from oncelog.runtime import real_json as json

INFO = "oncelog"
"""The entry of a commit's information that holds the identity of a batch."""
_REPLACE = "REPLACE TABLE"
"""A part of the names of operations that replace a table with a new one in the same log."""


class CommitHistory:
    """The batches in the newest commits of a log, the newest first, without batches that a RESTORE or REPLACE TABLE
    removed.

    :param commits: the texts of the newest commits, the newest first.
    """

    def __init__(self, commits: Iterable[str]) -> None:
        self._commits = commits
        self.undone = False
        """Whether the commits that were read so far include a RESTORE or REPLACE TABLE."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The data that sinks stored about their batches."""
        gone: dict[str, bool] = {}
        for text in self._commits:
            if gone:
                _undo(text, gone)
                continue
            for info in _commit_infos(text):
                fields = info.get(INFO)
                if isinstance(fields, dict):
                    yield fields
                if info.get("operation") == "RESTORE":
                    self.undone = True
                    _undo(text, gone)
                elif _REPLACE in info.get("operation", ""):
                    self.undone = True
                    return


def _commit_infos(text: str) -> list[dict[str, Any]]:
    return [json.loads(line).get("commitInfo", {}) for line in text.splitlines() if '"commitInfo"' in line]


def _undo(text: str, differs: dict[str, bool]) -> None:
    """Undo a commit in ``differs``.

    :param differs: the files by which the state after the commit differs from a later state, and whether the earlier
        state has them; afterwards the same for the state before the commit.
    """
    actions = [json.loads(line) for line in text.splitlines() if '"add"' in line or '"remove"' in line]
    for kind, before in (("add", False), ("remove", True)):
        for action in actions:
            if kind not in action:
                continue
            name = _file_name(action[kind])
            if name in differs:
                del differs[name]
            else:
                differs[name] = before


def _file_name(action: dict[str, Any]) -> str:
    """The name of a file with its deletion vector, which together are one version of its rows."""
    return json.dumps([action["path"], action.get("deletionVector")], sort_keys=True)
