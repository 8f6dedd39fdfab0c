"""Reads a query's checkpoint for the sink: the query's id, and the planned, committed and written batches.

Called on the driver, by ``commit()``, ``for_each_batch`` and ``oncelog pipeline doctor``. Spark's files are only read;
the sink keeps its last write next to them in the folder ``oncelog``. Local folders, HDFS and object stores are reached
through ``pyarrow.fs``, with the credentials in the driver's environment.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from oncelog.errors import OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime.chance import uuid4
from oncelog.spark.kafka.interface import ClusterFacts
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.marker import (
    GROUP_WORD,
    NEW_CHECKPOINT,
    BatchPlan,
    LastWrite,
    Marker,
    MarkerTopic,
    OffsetLogEntry,
    PreviousBatch,
    TopicsSince,
    last_write_key,
)
from oncelog.spark.sink.plan_description import bare_offsets, continues, is_ours, offsets_by_source

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem, FileType

LAST_WRITE_FOLDER = "oncelog"
READS_OF_PIPELINE = "reads"
"""The name of the file with the positions of a pipeline's reads: see
:func:`oncelog.spark.pipeline.reads.keep_reads`."""
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""URL schemes for which Hadoop and pyarrow have different names."""
_LONGEST_NAME = 230
_STRANGE = (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""The exceptions that parsing raises for a file that neither Spark nor the sink has written, or not in full."""
_QUERY_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class CheckpointError(OncelogError):
    """The checkpoint cannot be read or was not written by Spark; the text says which file and what to do."""


class Checkpoint:
    """The root of a query's checkpoint: the option ``checkpointLocation``."""

    def __init__(self, location: str, files: FileSystem, root: str) -> None:
        self.location = location
        self._files, self._root = files, root

    @classmethod
    def open(cls, location: str) -> Checkpoint:
        """The checkpoint at a location in Spark's notation; nothing is read yet."""
        return cls(location, *_file_system(location))

    @property
    def is_local(self) -> bool:
        """Whether the checkpoint is on this machine's disk."""
        return bool(self._files.type_name == "local")

    def is_new(self) -> bool:
        """Whether no query has started here yet: the checkpoint does not exist."""
        return self._read("metadata") is None and not self.batches("offsets")

    def query_id(self) -> str:
        """The query's id, the same across restarts. Raises CheckpointError if this is not a checkpoint."""
        text = self._read("metadata")
        if text is None:
            advice = self._lost_id() or (
                "name the folder of the query itself, with its scheme (file:, hdfs:, s3a:) if it is not on this "
                "machine; if it was deleted or moved while the query ran, restore all of it, or "
                f"{NEW_CHECKPOINT.format('the destination')}"
            )
            raise CheckpointError(
                f"Checkpoint {self.location} holds no file metadata that this driver's Python can see: {advice}"
            )
        return self._id_in(text)

    def check_id(self) -> None:
        """Raises CheckpointError if the file with the query's id exists, but neither the sink nor Spark could read
        it."""
        text = self._read("metadata")
        if text is not None:
            self._id_in(text)

    def _id_in(self, text: bytes) -> str:
        try:
            return str(json.loads(text)["id"])
        except _STRANGE:
            raise self._strange("metadata", self._lost_id()) from None

    def _lost_id(self) -> str:
        """Advice for the case that the file with the query's id is lost; empty if no sink has written. The names of the
        sinks' groups contain the id.
        """
        groups = (one.group if one.table else one.group.partition(GROUP_WORD)[2] for one in self.last_writes())
        ids = {found[0] for group in groups if (found := _QUERY_ID.match(group))}
        if len(ids) != 1:
            return ""
        return (
            f'write {{"id":"{ids.pop()}"}}, the id that the query\'s sinks have stored, into metadata, and on a disk '
            "remove the file .metadata.crc"
        )

    def planned(self, batch_id: int) -> OffsetLogEntry | None:
        """The plan of a batch; None if its file does not exist. Raises CheckpointError if the file is not complete."""
        data = self._read(f"offsets/{batch_id}")
        if data is None:
            return None
        try:
            lines = data.decode().split("\n")
            planned_at_ms = int(json.loads(lines[1])["batchTimestampMs"])
            offsets = "\n".join(lines[2:]).strip()
            for line in offsets_by_source(offsets).values():
                if not line or line.startswith("{"):
                    json.loads(line)
        except _STRANGE:
            raise self._incomplete("offsets", batch_id) from None
        return OffsetLogEntry(batch_id, hashlib.sha256(data).hexdigest(), planned_at_ms, offsets)

    def ended(self, batch_id: int) -> bool:
        """Whether Spark's commit log says that the batch was completed. Raises CheckpointError if its file is not
        complete."""
        data = self._read(f"commits/{batch_id}")
        if data is None:
            return False
        try:
            version, _, metadata = data.decode().partition("\n")
            if not re.fullmatch(r"v\d+\s*", version):
                raise ValueError(version)
            if metadata.strip():
                json.loads(metadata)
        except _STRANGE:
            raise self._incomplete("commits", batch_id) from None
        return True

    def is_under_way(self, batch_id: int) -> bool:
        """Whether the batch is the last planned one and has not completed."""
        return max(self.batches("offsets"), default=-1) == batch_id and not self.ended(batch_id)

    def batches(self, log: str) -> list[int]:
        """The numbers of the files in ``offsets`` or ``commits``, ascending."""
        return sorted(int(name) for name in self._names(log) if name.isdecimal())

    def folders(self) -> list[str]:
        """The names of the subfolders; in a folder of checkpoints, these are the checkpoints' names."""
        from pyarrow.fs import FileType

        return self._names("", FileType.Directory)

    def last_writes(self) -> list[LastWrite]:
        """The last writes of the query's sinks, one for each destination."""
        suffix = ".json"
        names = [name for name in sorted(self._names(LAST_WRITE_FOLDER)) if name.endswith(suffix)]
        found = (self._last_write(f"{LAST_WRITE_FOLDER}/{name}") for name in names)
        return [one for one in found if one is not None]

    def remembered(self, key: str) -> LastWrite | None:
        """The last write to the destination with this :attr:`LastWrite.key`; None if nothing was written there."""
        return self._last_write(_last_write_file(key))

    def _last_write(self, name: str) -> LastWrite | None:
        text = self._read(name)
        if text is None:
            return None
        try:
            fields = json.loads(text)
            topic = fields.get("markerTopic")
            return LastWrite(
                str(fields["clusterId"]),
                str(fields["group"]),
                int(fields["sinceBatchId"]),
                None if topic is None else MarkerTopic(str(topic["name"]), str(topic["id"])),
                str(fields.get("skipping", "")),
                str(fields.get("table", "")),
                tuple(TopicsSince(int(one["sinceBatchId"]), tuple(one["topics"])) for one in fields.get("topics", ())),
            )
        except _STRANGE:
            raise CheckpointError(
                f"Checkpoint {self.location} holds a file {name} that the sink did not write, or not in full: restore "
                "it, or remove it and start again: the sink then goes by the markers in the destination alone"
            ) from None

    def remember(self, last_write: LastWrite) -> None:
        """Store the last write of a sink before its batch is written, so that this entry exists for every batch in the
        log.
        """
        name = _last_write_file(last_write.key)
        fields: dict[str, object] = {
            "clusterId": last_write.cluster_id,
            "group": last_write.group,
            "sinceBatchId": last_write.since_batch_id,
            "topics": [{"sinceBatchId": since, "topics": names} for since, names in last_write.topics],
        }
        if last_write.marker_topic is not None:
            fields["markerTopic"] = last_write.marker_topic._asdict()
        if last_write.skipping:
            fields["skipping"] = last_write.skipping
        if last_write.table:
            fields["table"] = last_write.table
        self._write(name, json.dumps(fields).encode())

    def kept(self, name: str) -> bytes | None:
        """The data stored under a name in the sink's folder; None if there is none."""
        return self._read(f"{LAST_WRITE_FOLDER}/{name}")

    def keep(self, name: str, data: bytes) -> None:
        """Store ``data`` under a name in the sink's folder. The name must not have a dot, because names of files for
        last writes have one.
        """
        self._write(f"{LAST_WRITE_FOLDER}/{name}", data)

    # --- files

    def _read(self, name: str) -> bytes | None:
        try:
            with self._files.open_input_stream(f"{self._root}/{name}") as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(name, error) from error

    def _names(self, folder: str, kind: FileType | None = None) -> list[str]:
        """The names in a folder.

        :param kind: the kind of entries; files by default.
        """
        from pyarrow.fs import FileSelector, FileType

        wanted = FileType.File if kind is None else kind
        selector = FileSelector(f"{self._root}/{folder}".rstrip("/"), allow_not_found=True)
        try:
            return [info.base_name for info in self._files.get_file_info(selector) if info.type is wanted]
        except OSError as error:
            raise self._unreadable(folder, error) from error

    def _write(self, name: str, data: bytes) -> None:
        """Write a file under a temporary name and rename it, so that a file under its final name is always complete.

        Each write has a temporary name of its own, because two runs of the query may write at the same time.
        """
        from pyarrow.fs import FileType

        path = f"{self._root}/{name}"
        folder = path.rpartition("/")[0]
        partial = f"{folder}/{uuid4().hex}.partial"
        try:
            self._files.create_dir(folder, recursive=True)
            with self._files.open_output_stream(partial) as file:
                file.write(data)
            if self._files.type_name == "hdfs" and self._files.get_file_info(path).type is FileType.File:
                self._files.delete_file(path)
            self._files.move(partial, path)
        except OSError as error:
            raise CheckpointError(
                f"Checkpoint {self.location} cannot be written ({name}: {error}): the sink records there "
                "where it wrote last; give the driver's Python the rights that Spark has"
            ) from error

    def _unreadable(self, name: str, error: OSError) -> CheckpointError:
        return CheckpointError(
            f"Checkpoint {self.location} cannot be read ({name}: {error}), and without it a restored checkpoint could "
            f"not be distinguished from the query's own: give the driver's Python the rights that Spark has"
        )

    def _incomplete(self, log: str, batch_id: int) -> CheckpointError:
        """The error for a file of a batch that is empty or cut off: Spark does not sync its writes, so a power failure
        may leave the newest files incomplete."""
        name = f"{log}/{batch_id}"
        if batch_id < max(self.batches(log), default=batch_id):
            return self._strange(name)
        return CheckpointError(
            f"Checkpoint {self.location} holds a file {name} that is empty or cut off, as a power failure leaves it: "
            f"remove it, and on a disk the file {log}/.{batch_id}.crc, and start again. The sink writes no batch "
            "twice: one that it has written is skipped, or refused if Spark plans it differently"
        )

    def _strange(self, name: str, advice: str = "") -> CheckpointError:
        advice = advice or f"restore it, or {NEW_CHECKPOINT.format('the destination')}"
        return CheckpointError(
            f"Checkpoint {self.location} holds a file {name} that Spark did not write, or not in full: {advice}"
        )


def plan_of(
    checkpoint: Checkpoint,
    batch_id: int,
    group: str,
    facts: ClusterFacts,
    on_missing: OnMissingMarker,
    siblings: Collection[str] | None = (),
    table: str = "",
    others: Mapping[str, Marker] | None = None,
) -> BatchPlan:
    """The plan of a batch that Spark is about to write. Raises CheckpointError if it cannot be read.

    :param siblings: keys (:attr:`LastWrite.key`) of the query's other sinks; None if they are not known.
    :param table: the destination's name, if it is a table.
    :param others: markers of the query's other groups in the destination.
    """
    batch = checkpoint.planned(batch_id)
    if batch is None:
        raise CheckpointError(
            f"Checkpoint {checkpoint.location} holds no offsets/{batch_id}, the plan of the batch to be written: name "
            "the checkpoint of this query, and use neither asynchronous progress tracking nor real-time mode"
        )
    previous = None
    if batch_id > 0:
        previous = PreviousBatch(checkpoint.planned(batch_id - 1), checkpoint.ended(batch_id - 1))
        if previous.batch is not None:
            _check_sources(checkpoint, batch, previous.batch)
    return plan_with(checkpoint, batch, previous, group, facts, on_missing, siblings, table, others)


def plan_with(
    checkpoint: Checkpoint,
    batch: OffsetLogEntry,
    previous: PreviousBatch | None,
    group: str,
    facts: ClusterFacts,
    on_missing: OnMissingMarker,
    siblings: Collection[str] | None = (),
    table: str = "",
    others: Mapping[str, Marker] | None = None,
) -> BatchPlan:
    """The plan of a batch that follows ``previous``; the other parameters are those of :func:`plan_of`."""
    key = last_write_key(group, facts.cluster_id if table else "")
    remembered = None if table and not facts.cluster_id else checkpoint.remembered(key)
    elsewhere = None
    if remembered is None:
        found = [one for one in checkpoint.last_writes() if one.key not in {key, *(siblings or ())}]
        if table:  # the table may have been replaced
            remembered = next((one for one in found if one.table and one.group == group), None)
        elsewhere = next(iter(found), None) if remembered is None and (previous or siblings is not None) else None
    running = {one.partition("@")[0] for one in siblings or ()}
    return BatchPlan(
        group=group,
        query_id=checkpoint.query_id(),
        checkpoint=checkpoint.location,
        batch=batch,
        previous=previous,
        remembered=remembered,
        cluster_id=facts.cluster_id,
        retention_ms=facts.retention_ms,
        on_missing=on_missing,
        other_write=elsewhere,
        table=table,
        others={other: marker for other, marker in (others or {}).items() if other not in running},
    )


def _check_sources(checkpoint: Checkpoint, batch: OffsetLogEntry, previous: OffsetLogEntry) -> None:
    """Check sources that return to the query: Spark forgets a named source that two batches lack, and restarts it at
    its ``startingOffsets``.

    Raises CheckpointError if a source has returned and does not begin at its old position, as far as Spark's plans
    show. Pipelines position their reads themselves.
    """
    now, before = offsets_by_source(batch.offsets), offsets_by_source(previous.offsets)
    came = {name for name, line in now.items() if name not in before and not name.isdecimal() and is_ours(line)}
    if not came or checkpoint.kept(READS_OF_PIPELINE) is not None:
        return
    for number in reversed(checkpoint.batches("offsets")):
        planned = checkpoint.planned(number) if number < previous.batch_id else None
        ends = {} if planned is None else offsets_by_source(planned.offsets)
        moved = [name for name in sorted(came & ends.keys()) if not continues(ends[name], now[name])]
        # Spark itself continues a source that was missing in only one batch
        if moved and number < previous.batch_id - 1:
            raise CheckpointError(
                f"Batch {batch.batch_id} of checkpoint {checkpoint.location} is refused: it has source {moved[0]} "
                f"again, which later batches than {number} did not have, so Spark has forgotten where it was and begun "
                f"it elsewhere. Remove offsets/{batch.batch_id} from the checkpoint, on a disk with the file "
                f".{batch.batch_id}.crc beside it, and give that source "
                f"startingOffsets {bare_offsets(ends[moved[0]])}"
            )
        came -= ends.keys()
        if not came:
            return


def marker_group(prefix: str, query_id: str, topic: str, name: str = "") -> str:
    """The group of a query's marker, which is also its transactional id; each destination has its own.

    :param topic: the option ``topic``; empty if the rows name their topics.
    :param name: the sink's name, if a query has several sinks.
    """
    return f"{prefix}{GROUP_WORD}{query_id}" + (f"-{topic}" if topic else "") + (f":{name}" if name else "")


def named_group(prefix: str, batch_id: int, topic: str) -> str:
    """The group of the marker of a batch write with a ``batchId``; each id under a prefix has its own."""
    return f"{prefix}{GROUP_WORD}{batch_id}:{topic}"


def _last_write_file(key: str) -> str:
    """The name of the file of a last write: the key, or the key's beginning and a hash, because most file systems allow
    only 255 bytes."""
    name = quote(key, safe="")
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 65]}-{hashlib.sha256(key.encode()).hexdigest()}"
    return f"{LAST_WRITE_FOLDER}/{name}.json"


@functools.lru_cache(maxsize=128)
def _file_system(location: str) -> tuple[FileSystem, str]:
    """The file system of a location in Hadoop's notation, and the path in it without a trailing slash."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    scheme, separator, rest = location.partition(":")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return LocalFileSystem(), os.path.abspath(location).rstrip("/")
    if scheme == "file":  # the path is taken literally, because Hadoop does not percent-decode it
        return LocalFileSystem(), re.sub(r"^//[^/]*(?=/)", "", rest).rstrip("/")
    try:
        found, path = FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}:{rest}")
    except (OSError, ValueError) as error:  # pyarrow raises both
        raise CheckpointError(
            f"Checkpoint {location} cannot be reached through pyarrow.fs ({error}): use a file system that it knows "
            "(file:, hdfs:, s3a:, gs:, abfss:), and set its credentials in the environment"
        ) from error
    return found, path.rstrip("/")
