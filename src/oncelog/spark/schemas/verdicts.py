"""The registry's answers about the schema ids of a micro-batch, collected from all tasks. Called by pipelines.

A pipeline reads a source once for the rows that fit and once for the dead letters, in different tasks. If an id were
registered between the two reads, a record could be in neither result. So the tasks report the answers that they got,
and a batch in which two answers about an id differ is not committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.accumulators import AccumulatorParam

from oncelog.spark.sink.engine import BatchStep, SinkRefused

if TYPE_CHECKING:
    from pyspark import SparkContext

Told = dict[int, frozenset[str]]


class _Union(AccumulatorParam[Told]):
    def zero(self, value: Told) -> Told:
        return {}

    def addInPlace(self, value1: Told, value2: Told) -> Told:  # Spark calls it
        for schema_id, verdicts in value2.items():
            value1[schema_id] = value1.get(schema_id, frozenset()) | verdicts
        return value1


class Verdicts:
    """The registry's answers about schema ids since the pipeline's batch began."""

    def __init__(self, context: SparkContext) -> None:
        self._answers = context.accumulator({}, _Union())

    def begin(self) -> None:
        """Discard all answers before a batch; on the driver."""
        self._answers.value = {}

    def add(self, verdicts: Mapping[int, str]) -> None:
        """Add the answers that a task got from the registry, in the task."""
        self._answers.add({schema_id: frozenset([verdict]) for schema_id, verdict in verdicts.items()})

    def observe(self, step: BatchStep, batch_id: int | None) -> None:
        """Check the registry's answers before the batch is committed. Raises SinkRefused if two answers about an id
        differ.
        """
        if step is not BatchStep.MARKER_ADDED:
            return
        differing = sorted(schema_id for schema_id, verdicts in self._answers.value.items() if len(verdicts) > 1)
        if differing:
            raise SinkRefused(
                f"While a batch was read, the schema registry answered differently about schema id {differing[0]}: "
                "nothing of the batch is written; start the pipeline again"
            )
