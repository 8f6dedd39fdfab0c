"""Helper for flows of declarative pipelines (``spark-pipelines``, PySpark 4.1 and later) whose sink is ``oncelog``."""

from __future__ import annotations

from oncelog.errors import ConfigError
from oncelog.spark.sink.checkpoint import Checkpoint
from oncelog.spark.sink.full_refresh import checkpoints_of
from oncelog.spark.sink.plan_description import next_start, offsets_by_source


def starting_after(flow: str, *, source: int | str = 0, otherwise: str = "earliest") -> str:
    """The ``startingOffsets`` with which a fully refreshed flow continues where it ended.

    Use these offsets with the sink's option ``onFullRefresh`` set to ``after``, which checks that no record is lost or
    duplicated. Spark ignores the offsets if the flow has a checkpoint, and the source refuses them if the topic was
    recreated since. Raises CheckpointError if the folder cannot be read.

    :param flow: the folder of the flow's checkpoints, ``STORAGE/_checkpoints/SINK/FLOW``.
    :param source: the number or name of the source, if the flow reads several.
    :param otherwise: where a flow starts that has not completed a batch yet.
    """
    flow = flow.rstrip("/")
    numbers = [int(name) for name in Checkpoint.open(flow).folders() if name.isdecimal()]
    for checkpoint in checkpoints_of(flow, max(numbers, default=-1) + 1, Checkpoint.open):
        ended = checkpoint.batches("commits")
        batch = checkpoint.planned(ended[-1]) if ended and checkpoint.last_writes() else None
        if batch is not None:
            found = offsets_by_source(batch.offsets)
            if str(source) not in found:
                raise ConfigError(f"The flow of {flow} has the sources {', '.join(found)}, and no source {source}")
            return next_start(found[str(source)])
    return otherwise
