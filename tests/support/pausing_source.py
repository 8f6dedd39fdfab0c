"""The product's data source under another format name, which pauses at a step of a commit; used by tests only."""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.spark.data_source import OncelogDataSource
from oncelog.spark.sink.engine import BatchStep
from tests.support.spark_faults import PauseAt


class PausingDataSource(OncelogDataSource):
    """``format("oncelog_paused")``: ``oncelog`` with the options of :meth:`PausePoint.options`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        given = dict(options.items())
        at, batch, port = (given.pop(f"pause.{name}", "") for name in ("at", "batch", "port"))
        self._pause = PauseAt(at, batch, port)
        super().__init__(given)

    @classmethod
    def name(cls) -> str:
        return "oncelog_paused"

    def observe(self, step: BatchStep, batch_id: int | None) -> None:
        self._pause(step, batch_id)
