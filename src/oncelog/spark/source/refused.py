"""A streaming reader for a query that is refused: each call raises the reason.

If ``streamReader`` itself raised, PySpark's worker would try to stop a reader that does not exist, and its
``UnboundLocalError`` would be the last error that a user sees. So the refusal is raised by Spark's first call, before
anything is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from oncelog.errors import OncelogError


class RefusedReader(DataSourceStreamReader):
    """Refuses every call.

    :param error: the error that every call raises.
    """

    def __init__(self, error: OncelogError) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, object]:
        self._refuse()

    def latestOffset(self, *_: object) -> dict[str, object]:
        self._refuse()  # before PySpark 4.2 latestOffset() has no arguments

    def partitions(self, start: dict[str, object], end: dict[str, object]) -> Sequence[InputPartition]:
        self._refuse()

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise self._error from None
