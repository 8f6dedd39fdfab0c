"""Stores the identities of batches in an Iceberg table, and finds the last batch of each sink.

Called by :mod:`oncelog.spark.tables.lake.iceberg`. The summary of each snapshot that a sink creates has the sink and
the batch. Snapshots expire, so the same commit also sets a table property for the sink: the batch, its snapshot, and
the position of the snapshot in the table's history. Rollbacks keep properties, so the property counts only if its
snapshot has expired, and nothing shows that the table was rolled back to an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pyiceberg.serializers import FromInputFile

from oncelog.runtime import real_json as json
from oncelog.spark.sink.marker import Marker
from oncelog.spark.tables.store import query_of

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

SINK = "oncelog.sink"
BATCH = "oncelog.batch"
LAST = f"{BATCH}."
"""The first part of the name of a sink's property, which the sink's group follows."""


class _Stored(NamedTuple):
    """The last batch of a sink, from the table's property."""

    marker: Marker
    snapshot_id: int
    position: tuple[int, int]


def in_summary(group: str, marker: Marker) -> dict[str, str]:
    """The properties of each snapshot of a batch."""
    return {SINK: group, BATCH: marker.encode()}


def in_table(group: str, marker: Marker, snapshot: Snapshot) -> dict[str, str]:
    """The table's property for a batch: without offsets, because a Hive metastore accepts at most 4,000 characters.

    :param snapshot: the last snapshot of the batch.
    """
    fields = json.loads(replace(marker, offsets="").encode())
    place = {"snapshotId": snapshot.snapshot_id, "position": _position(snapshot)}
    return {f"{LAST}{group}": json.dumps(fields | place)}


def last_batches(table: Table, group: str, known: Collection[str]) -> dict[str, Marker]:
    """The last batch of the group in the table; if it has none, the last batches of the query's other groups and of the
    known groups.
    """

    def is_wanted(sink: str) -> bool:
        return query_of(sink) == query_of(group) or sink in known

    stored = {sink: one for sink, one in _stored(table) if is_wanted(sink)}
    found: dict[str, Marker | None] = {}
    lineage = _Lineage(table, expired=group in stored)
    for snapshot in lineage:
        sink, marker = _identity(snapshot)
        if sink and sink not in found and is_wanted(sink):
            found[sink] = marker
        if sink == group:
            break
    else:
        for sink, one in stored.items():
            if lineage.may_have_had(one):
                found.setdefault(sink, one.marker)
    return {sink: marker for sink, marker in found.items() if marker is not None}


class _Lineage:
    """The current snapshot and its ancestors, the newest first.

    :param expired: whether to look for expired ancestors in the table's earlier metadata files.
    """

    def __init__(self, table: Table, *, expired: bool) -> None:
        self._table = table
        self._known = {one.snapshot_id: one for one in table.snapshots()}
        self._earlier = [one.metadata_file for one in table.metadata.metadata_log] if expired else []
        self._oldest: Snapshot | None = None
        self._is_complete = False

    def __iter__(self) -> Iterator[Snapshot]:
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            self._oldest = snapshot
            yield snapshot
            snapshot = self._parent(snapshot.snapshot_id)

    def may_have_had(self, stored: _Stored) -> bool:
        """Whether a snapshot that was not found may be an ancestor that has expired."""
        if self._oldest is None or self._is_complete:
            return False
        return self._table.snapshot_by_id(stored.snapshot_id) is None and stored.position < _position(self._oldest)

    def _parent(self, snapshot_id: int) -> Snapshot | None:
        while (parent := self._known[snapshot_id].parent_snapshot_id) not in self._known and self._earlier:
            try:
                metadata = FromInputFile.table_metadata(self._table.io.new_input(self._earlier.pop()))
            except FileNotFoundError:  # Iceberg deletes the oldest of these files first
                self._earlier.clear()
                continue
            before = {one.snapshot_id: one for one in metadata.snapshots}
            if parent is None and snapshot_id not in before:  # so it never had a parent
                self._is_complete = True
                return None
            self._known |= before  # pyiceberg removes the ids of expired parents, which earlier files have
        return None if parent is None else self._known.get(parent)


def _position(snapshot: Snapshot) -> tuple[int, int]:
    """The position in the table's history: format version 1 has only timestamps, which version 2 may continue."""
    return snapshot.sequence_number or 0, snapshot.timestamp_ms


def _identity(snapshot: Snapshot) -> tuple[str, Marker | None]:
    """The sink and the batch of a snapshot; an empty text if no sink created it."""
    properties = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return properties.get(SINK, ""), Marker.decode(properties.get(BATCH, ""))


def _stored(table: Table) -> Iterator[tuple[str, _Stored]]:
    for name, text in table.properties.items():
        marker = Marker.decode(text) if name.startswith(LAST) else None
        if marker is not None:
            fields = json.loads(text)
            sequence_number, timestamp_ms = fields["position"]
            yield name.removeprefix(LAST), _Stored(marker, fields["snapshotId"], (sequence_number, timestamp_ms))
