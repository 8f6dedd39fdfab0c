"""Recognises the markers that the Spark sink commits in groups; a marker names the last batch of a query in the
cluster.

Called by the command line and the console, for any cluster. A marker is the metadata of a committed offset of -1, which
is no position, so its group has no lag. The sink reads its own marker with ``oncelog.spark.sink.marker``; this module
decodes only as much as is shown.
"""

from __future__ import annotations

from typing import NamedTuple

from oncelog.runtime import real_json as json
from oncelog.types import TopicPartition


class SinkMarker(NamedTuple):
    """The marker that the transaction of a Spark batch left in a group: the query, the batch, its number of rows.

    :param where: the partition under which the group keeps it: a broker deletes it with that topic.
    :param planned_at_ms: when Spark planned the batch; -1 if the marker does not say so.
    """

    group: str
    where: TopicPartition
    query_id: str
    batch_id: int
    rows: int
    planned_at_ms: int

    @classmethod
    def of(cls, group: str, where: TopicPartition, metadata: str) -> SinkMarker | None:
        """The marker in an offset's metadata; None for metadata that no oncelog sink has written."""
        if not metadata.startswith("{"):
            return None
        try:
            fields = json.loads(metadata)
        except (ValueError, RecursionError):
            return None
        query, batch = fields.get("queryId"), fields.get("batchId")
        if not isinstance(query, str) or type(batch) is not int:
            return None
        rows, planned = fields.get("rows"), fields.get("plannedAtMs")
        return cls(
            group, where, query, batch, rows if type(rows) is int else 0, planned if type(planned) is int else -1
        )

    def __str__(self) -> str:
        if self.batch_id < 0:
            return f"marker of a Spark sink: no batch of {self.query_id} yet"
        return f"marker of a Spark sink: batch {self.batch_id} of {self.query_id}, {self.rows} rows"


__all__ = ["SinkMarker"]
