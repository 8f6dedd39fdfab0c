"""The streaming reader for releases of Spark that request the latest offset without a start and a limit (4.0, 4.1).

Such a Spark makes these calls, in this order (seen on 4.0.5 and 4.1.4):

- a new query: ``latestOffset``, ``initialOffset``, ``partitions(initial, latest)``;
- a restart: ``partitions(x, x)`` with the end x of the last planned batch, again ``partitions(before, x)`` if that
  batch is repeated, then ``latestOffset``;
- Trigger.AvailableNow with ``spark.sql.streaming.triggerAvailableNowWrapper.enabled``: ``latestOffset`` before any of
  these, and everything up to it in one batch. Without that setting Spark runs a single batch, which after a crash is
  the repeated one.

So the reader learns its position from Spark's plans, and its first answer in a run must cover the whole log, because it
may be that of AvailableNow: a limit there would silently omit records.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pyspark.sql.datasource import InputPartition

from oncelog.spark.kafka.place import Json, Offsets, Place
from oncelog.spark.source.limits import ReadAllAvailable
from oncelog.spark.source.stream import StreamReader
from oncelog.spark.versions import PYSPARK

logger = logging.getLogger(__name__)


class UnlimitedReader(StreamReader):
    """Reads everything in the first micro-batch of a run, and from then on at most ``maxOffsetsPerTrigger``."""

    _position: Json | None = None
    """The end offsets of the last planned batch; None until Spark has planned a batch in this run."""
    _without_position: Json | None = None
    """The end offsets that :meth:`latestOffset` returned before the position was known."""
    _has_answered = False
    _answers_first = False

    def initialOffset(self) -> Json:
        """The start offsets of a new query. Each call returns the same offsets, because Spark plans the first batch
        from them.
        """
        return self._initial or super().initialOffset()

    def latestOffset(self) -> Json:  # type: ignore[override]
        """The end of the next batch."""
        limit = self.getDefaultReadLimit()
        self._answers_first, self._has_answered = not self._has_answered, True
        if self._answers_first:
            if not isinstance(limit, ReadAllAvailable):
                logger.warning(
                    "PySpark %s does not tell a source where its first batch begins: it reads everything there is, and "
                    "maxOffsetsPerTrigger and minOffsetsPerTrigger hold for the batches after it",
                    PYSPARK,
                )
            limit = ReadAllAvailable()
        if self._position is not None:
            return super().latestOffset(self._position, limit)
        self._without_position = super().latestOffset(self.initialOffset(), ReadAllAvailable())
        return self._without_position

    def _read_by(self, place: Place) -> Offsets:
        return {} if self._answers_first else super()._read_by(place)

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        self._position = end
        if start == end:
            return []
        if end == self._without_position and start != self._initial:
            self._check_position(Place.of(start), Place.of(end))
        return super().partitions(start, end)

    def _check_position(self, place: Place, end: Place) -> None:
        """Report lost records, which :meth:`latestOffset` could not do because it did not know the start of the
        batch.
        """
        begin = self._batch_begin(place, end)
        self._report_lost(begin, self._ends(begin, end.offsets), place)

    def stop(self) -> None:
        """Warn if the query ends after a repeated batch without having looked for new records."""
        if self._position is not None and not self._has_answered:
            logger.warning(
                "The query has repeated a batch and ended before it looked for new records. If its trigger is "
                "AvailableNow, set spark.sql.streaming.triggerAvailableNowWrapper.enabled to true (session() does), or "
                "run it again: PySpark %s runs a single batch otherwise",
                PYSPARK,
            )
