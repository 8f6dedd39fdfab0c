"""Checks the first write after a full refresh of a declarative pipeline (``spark-pipelines``, PySpark 4.1 and later).

A full refresh gives a flow a new checkpoint: the flow's folder ``STORAGE/_checkpoints/SINK/FLOW`` has one for each
refresh, numbered from 0. The flow then reads its source again, and the records that it wrote to a topic stay there. So
the first batch of a new checkpoint is refused unless the option ``onFullRefresh`` says what to do. Called on the
driver, before the rows of a micro-batch are computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from oncelog.spark.options import OnFullRefresh, SinkOptions
from oncelog.spark.sink.checkpoint import Checkpoint, marker_group
from oncelog.spark.sink.engine import SinkRefused
from oncelog.spark.sink.marker import Found, Marker
from oncelog.spark.sink.plan_description import bare_offsets, continues, offsets_by_source

_FLOW_CHECKPOINT = re.compile(r"(.*[/\\]_checkpoints[/\\].+)[/\\](\d+)[/\\]*")

OpenCheckpoint = Callable[[str], Checkpoint]


class EarlierCheckpoint(NamedTuple):
    """The flow's last checkpoint that has written to the same destination, and the group of its marker."""

    checkpoint: Checkpoint
    group: str


def checkpoints_of(flow: str, before: int, open_checkpoint: OpenCheckpoint) -> Iterator[Checkpoint]:
    """The flow's checkpoints with numbers below ``before``, the newest first."""
    return (open_checkpoint(f"{flow}/{number}") for number in range(before - 1, -1, -1))


def check_full_refresh(
    options: SinkOptions,
    checkpoint: Checkpoint,
    group: str,
    open_checkpoint: OpenCheckpoint,
    fenced: Callable[[str], Found],
) -> None:
    """Raises SinkRefused if the query is a flow that was fully refreshed, and the option ``onFullRefresh`` does not
    allow the write.

    :param group: the group of this query's marker.
    :param fenced: the marker of another group, read after its writer was fenced.
    """
    flow = _FLOW_CHECKPOINT.fullmatch(checkpoint.location)
    if flow is None or checkpoint.remembered(group) is not None:
        return
    earlier = _earlier(options, flow[1], int(flow[2]), open_checkpoint)
    if earlier is None:
        return
    match options.on_full_refresh:
        case OnFullRefresh.APPEND:
            return
        case OnFullRefresh.FAIL:
            where = f"topic {options.topic!r}" if options.topic else "topics"
            raise SinkRefused(
                f"The flow of checkpoint {checkpoint.location} is refused: it was refreshed in full, and what "
                f"{earlier.checkpoint.location} has written to {where} is still there. Set option onFullRefresh of the "
                f"sink to append (write everything again) or after (continue where that ended), or remove "
                f"{checkpoint.location} to continue as before"
            )
        case OnFullRefresh.AFTER:
            _check_begin(checkpoint, earlier, fenced(earlier.group))


def _earlier(options: SinkOptions, flow: str, number: int, open_checkpoint: OpenCheckpoint) -> EarlierCheckpoint | None:
    for checkpoint in checkpoints_of(flow, number, open_checkpoint):
        last_writes = checkpoint.last_writes()
        # The marker's group may have another prefix: compare only the part after the prefix
        end = marker_group("", checkpoint.query_id(), options.destination, options.sink_name) if last_writes else ""
        found = [one.group for one in last_writes if one.group.endswith(end)]
        if found:
            return EarlierCheckpoint(checkpoint, found[0])
    return None


def _check_begin(checkpoint: Checkpoint, earlier: EarlierCheckpoint, found: Found) -> None:
    """Raises SinkRefused unless the first batch begins at the offsets up to which the earlier checkpoint has
    written."""
    before = earlier.checkpoint.location
    until = written_until(earlier.checkpoint, found)
    again = f"remove {checkpoint.location}"
    if until is None:
        raise SinkRefused(
            f"The flow of checkpoint {checkpoint.location} is refused, as it cannot be known how far {before} has "
            f"written: {again}, run the flow without a full refresh, and ask for the refresh again"
        )
    first = checkpoint.planned(0)
    begins = offsets_by_source(first.offsets) if first is not None else {}
    wanted = offsets_by_source(until)
    fits = begins.keys() == wanted.keys() and all(continues(line, begins[name]) for name, line in wanted.items())
    if not fits:
        starting = bare_offsets(until).replace("\n", " and ")
        raise SinkRefused(
            f"The flow of checkpoint {checkpoint.location} is refused: onFullRefresh is after, and it does not begin "
            f"where {before} has written to. Read with format oncelog and startingOffsets {starting} "
            f"(oncelog.spark.pipeline.declarative.starting_after finds them), {again}, and ask for the refresh again"
        )


def written_until(checkpoint: Checkpoint, found: Found) -> str | None:
    """The end offsets of the last written batch, one line per source; None if they are not known.

    :param found: the marker, read after the fence; None if there is none, for instance because it has expired.
    """
    last = max(checkpoint.batches("offsets"), default=0)
    batches = [batch for number in (last, last - 1) if (batch := checkpoint.planned(number)) is not None]
    for batch in batches:
        if isinstance(found, Marker):
            if (found.batch_id, found.fingerprint) == (batch.batch_id, batch.fingerprint):
                return batch.offsets
        elif found is None and batch.batch_id == last and checkpoint.ended(last):
            return batch.offsets
    return None
