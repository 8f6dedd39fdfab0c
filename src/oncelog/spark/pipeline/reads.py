"""The reads of a pipeline's query, and the start offsets of reads that are new in its checkpoint.

Each sink reads the sources of a pipeline separately, and so do the dead letters of a source. Where Spark identifies
reads by names instead of their order (:data:`oncelog.spark.versions.HAS_SOURCE_NAMES`), a read may be added to a query:
it begins where the other reads of its source are, so a sink added later gets the records from then on. Spark forgets a
read that a batch lacks, so the checkpoint stores its position separately.

Pure except for :func:`known_reads` and :func:`keep_reads`. Called by :mod:`oncelog.spark.pipeline.running` and
:mod:`oncelog.spark.pipeline.rows`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from oncelog.runtime import real_json as json
from oncelog.spark.kafka.place import BatchMark, Place
from oncelog.spark.options import OnMissingMarker
from oncelog.spark.pipeline.definition import ONLY, TOPICS, Pipeline, PipelineError
from oncelog.spark.sink.checkpoint import READS_OF_PIPELINE, Checkpoint, CheckpointError
from oncelog.spark.sink.marker import NEW_CHECKPOINT
from oncelog.spark.sink.plan_description import offsets_by_source
from oncelog.types import TopicPartition

_DEAD_LETTERS = "dead_letters"
_STRANGE = re.compile("[^A-Za-z0-9]")


class SourceRead(NamedTuple):
    """One read of a source for a sink; with ``sink`` None, the read for the source's dead letters."""

    source: str
    sink: str | None = None

    @property
    def name(self) -> str:
        """The read's unique name in Spark, of letters, digits and ``_``."""
        return f"{_spelt(self.source)}__{_DEAD_LETTERS if self.sink is None else _spelt(self.sink)}"


class ReadStart(NamedTuple):
    """The start offsets of a read that Spark does not know.

    :param with_batch: the start applies only while this batch is the last one; None for a removed read, whose start
        always applies.
    """

    place: Place
    with_batch: int | None = None


def _spelt(name: str) -> str:
    """A name in letters, digits and ``_``, such as ``orders_2d_eu`` for ``orders-eu``: a replaced character becomes its
    code between two ``_``. So no name contains ``__`` or equals ``dead_letters``."""
    return _STRANGE.sub(lambda found: f"_{ord(found[0]):x}_", name)


def reads_of(one: Pipeline) -> list[SourceRead]:
    """All reads that a pipeline's query may have; a transform may omit some of them."""
    sinks = [SourceRead(source, sink) for sink in one.sinks for source in one.sources]
    return sinks + [SourceRead(name) for name, source in one.sources.items() if source.dead_letter]


NEW_PIPELINE = (
    "give the pipeline another name and, as startingOffsets of its sources, the offsets that oncelog pipeline doctor "
    "CHECKPOINT --json shows for the old one"
)
"""The advice in error messages to give a pipeline another name, and with it a new checkpoint. The advice contains start
offsets, because the pipeline would otherwise write everything again.
"""


@dataclass(frozen=True, slots=True)
class CheckpointReads:
    """A query's reads according to its checkpoint.

    :param begins: where each read begins in the next batch, by its name, or its number if it has no name; without
        offsets if unknown.
    :param repeats: whether the next batch repeats a planned, uncompleted one.
    :param batch_id: the last planned batch.
    :param kept: the starts of reads that Spark does not know: removed reads, reads added while a batch without them was
        repeated, and reads that got no records in their first batch, while that batch has not ended.
    :param left: the positions of reads that the second last batch has and the last, completed one lacks: Spark would
        continue the reads there.
    :param groups: the groups of its sinks' markers.
    :param tables: the names of sinks that have written to tables; an unnamed sink is the empty name.
    :param has_state: whether Spark stores state for the query (windows, aggregates, joins).
    """

    begins: Mapping[str, Place]
    repeats: bool
    batch_id: int = 0
    kept: Mapping[str, ReadStart] = field(default_factory=dict)
    left: Mapping[str, Place] = field(default_factory=dict)
    groups: Collection[str] = ()
    tables: Sequence[str] = ()
    has_state: bool = False

    @property
    def have_names(self) -> bool:
        return not any(name.isdecimal() for name in self.begins)


def known_reads(checkpoint: Checkpoint) -> CheckpointReads | None:
    """The pipeline's reads according to the checkpoint; None if no batch was planned yet. Raises CheckpointError."""
    checkpoint.check_id()
    numbers = checkpoint.batches("offsets")
    last = checkpoint.planned(numbers[-1]) if numbers else None
    if last is None:
        return None
    ends = offsets_by_source(last.offsets)
    kept = {
        name: found
        for name, found in _kept_in(checkpoint).items()
        if name not in ends and found.with_batch in (None, last.batch_id)
    }
    before = checkpoint.planned(last.batch_id - 1)
    earlier = {} if before is None else offsets_by_source(before.offsets)
    writes = checkpoint.last_writes()
    groups = tuple(one.group for one in writes)
    tables = tuple(sorted({one.group.partition(":")[2] for one in writes if one.table}))
    if checkpoint.ended(last.batch_id):
        begins = {name: _end(line) for name, line in ends.items()}
        left = {name: _end(line) for name, line in earlier.items() if name not in ends}
        return CheckpointReads(
            begins, False, last.batch_id, kept, left, groups, tables, "state" in checkpoint.folders()
        )
    begins = {name: _end(earlier.get(name, line)) for name, line in ends.items()}
    for name in (name for name in ends if name not in earlier):
        place = _place(ends[name])
        if place.start:
            begins[name] = Place(place.start, place.ids)
        else:  # an empty first batch: its line in the checkpoint has an end offset but no start
            kept[name] = ReadStart(place, last.batch_id)
    return CheckpointReads(begins, True, last.batch_id, kept, groups=groups, tables=tables)


def keep_reads(checkpoint: Checkpoint, one: Pipeline, known: CheckpointReads) -> None:
    """Store the starts of reads that Spark forgets in the checkpoint, before a run, even if there are none. Raises
    CheckpointError."""
    kept = kept_of(one, known)
    if kept != _kept_in(checkpoint) or checkpoint.kept(READS_OF_PIPELINE) is None:
        texts = {
            name: {"place": found.place.as_json(), "withBatch": found.with_batch}
            for name, found in sorted(kept.items())
        }
        checkpoint.keep(READS_OF_PIPELINE, json.dumps(texts).encode())


def _kept_in(checkpoint: Checkpoint) -> dict[str, ReadStart]:
    data = checkpoint.kept(READS_OF_PIPELINE)
    try:
        found = {} if data is None else json.loads(data)
        return {name: ReadStart(Place.of(one["place"]), one["withBatch"]) for name, one in found.items()}
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError):
        raise CheckpointError(
            f"Checkpoint {checkpoint.location} holds a file oncelog/{READS_OF_PIPELINE} that is not what pipelines "
            f"write: restore it, or {NEW_CHECKPOINT.format('the destination')}"
        ) from None


def _place(line: str) -> Place:
    """The position in a source's line; no offsets if the source is not oncelog's, or had no rows (``-``)."""
    return Place.in_line(line) or Place({})


def _end(line: str) -> Place:
    return _place(line)._replace(start={})


def begins_of(one: Pipeline, known: CheckpointReads | None) -> dict[SourceRead, Place]:
    """The start offsets of reads that Spark does not know. Reads that begin at the offsets in the options of their
    source are left out.

    :raises PipelineError: no offset avoids both skipping and repeating a record.
    """
    if known is None:
        return {}
    wanted = {read.name: read for read in reads_of(one)}
    gone = [name for name in known.begins if name not in wanted]
    if gone and known.repeats:
        raise PipelineError(
            f"pipeline {one.name}: its last run planned a batch and did not end it, and the batch has the reads "
            f"{', '.join(gone)}, whose source or sink the pipeline no longer has: undo the change, run "
            "the pipeline once, and then change it"
        )
    _refuse_missed_batches(one, known)
    if known.has_state and len(one.sinks) > 1:
        _refuse_other_order(one, known, gone)
    found = {
        read: begin
        for name, read in wanted.items()
        if (name in known.kept or name not in known.begins)
        and (begin := known.kept[name].place if name in known.kept else _begin(one, read, known, gone)).offsets
    }
    for read, begin in found.items():
        if known.left.get(read.name, begin).offsets != begin.offsets:
            raise PipelineError(
                f"pipeline {one.name}: Spark would continue {read.name} where it was before the last batch, and read "
                "again what another sink has: undo the change, run the pipeline until one more batch has ended, "
                "and change it then"
            )
    if not (known.repeats and known.batch_id == 0):
        _refuse_new_writers(one, known)
    return found


def _writers(one: Pipeline) -> dict[str, set[str]]:
    """The reads of each sink that has markers of its own: each table, and all topics together; empty if there are only
    topics."""
    writers = {name: {SourceRead(source, name).name for source in one.sources} for name in one.table_sinks}
    if writers and one.writes_topics:
        writers[TOPICS] = {read.name for read in reads_of(one) if read.sink not in one.table_sinks}
    return writers


def _refuse_new_writers(one: Pipeline, known: CheckpointReads) -> None:
    """Refuse a sink with a new name, because the sink would refuse its first batch, and the change could not be undone
    once Spark had planned that batch."""
    for writer in _writers(one):
        if writer == TOPICS:
            is_known, what = any(found.endswith(f":{TOPICS}") for found in known.groups), "a topic"
            options = {name.lower(): text.lower() for name, text in one.writer_options("").items()}
            may_write = options.get("onmissingmarker", "fail") != "fail"
        else:
            parsed = one.table_sinks[writer].parsed(one.mode)
            name = "" if writer == ONLY else writer
            is_known = name in known.tables
            what = f"a table as {f'sink {name!r}' if name else 'its only sink, without a name'} ({parsed})"
            may_write = parsed.on_missing is not OnMissingMarker.FAIL
        if not may_write and not is_known:
            raise PipelineError(
                f"pipeline {one.name}: its checkpoint has written batches, but none to {what}. If the sink had another "
                "name, give it that name again. If the sink is new, set its option onMissingMarker to write until a "
                "batch has ended: earlier batches will be missing there, and none is written twice"
            )


def _refuse_missed_batches(one: Pipeline, known: CheckpointReads) -> None:
    """Refuse a sink that returns after it missed batches: its markers would refuse the next batch, once Spark had
    planned it."""
    for writer, names in _writers(one).items():
        back = sorted(name for name in names & known.kept.keys() if known.kept[name].with_batch is None)
        if back and names.isdisjoint(known.begins):
            what = "the topics were" if writer == TOPICS else f"table sink {writer!r} was"
            raise PipelineError(
                f"pipeline {one.name}: {what} taken out ({', '.join(back)}), and batches have been written without: "
                + (NEW_PIPELINE if writer == TOPICS else "give the sink another name")
            )


def _refuse_other_order(one: Pipeline, known: CheckpointReads, gone: Collection[str]) -> None:
    """Refuse to remove and add sinks in one run if Spark has state: it identifies states by their order, and could give
    the state of one sink to another."""
    came = [sink for sink in one.sinks if _is_new(one, sink, known)]
    went = [name for name in gone if not name.endswith(f"__{_DEAD_LETTERS}")]
    if came and went:
        raise PipelineError(
            f"pipeline {one.name}: its checkpoint has state and the reads {', '.join(went)}, whose sink the pipeline "
            f"no longer has, while {', '.join(came)} was added, and Spark might give the state of one sink to "
            "another: undo the change, or remove a sink in one run and add another in a later one"
        )


def kept_of(one: Pipeline, known: CheckpointReads) -> dict[str, ReadStart]:
    """The start offsets of reads that Spark will forget; raises as :func:`begins_of`. If a sink was removed and a new
    sink reads the same source, the sink was renamed, and its old reads are left out. This does not hold for tables,
    because the marker of a table contains the sink's name.
    """
    wanted = {read.name for read in reads_of(one)}
    come = tuple(f"{_spelt(source)}__" for sink in one.sinks if _is_new(one, sink, known) for source in one.sources)
    stay = (f"__{_DEAD_LETTERS}", *(f"__{_spelt(group.rpartition(':')[2])}" for group in known.groups))
    kept = {name: found for name, found in known.kept.items() if name not in known.begins}
    for name, begin in known.begins.items():
        if begin.offsets and name not in wanted and (name.endswith(stay) or not name.startswith(come)):
            kept[name] = ReadStart(begin)
    if known.repeats:
        for read, begin in begins_of(one, known).items():
            if read.name not in known.begins:
                kept.setdefault(read.name, ReadStart(begin, known.batch_id))
    return kept


def _is_new(one: Pipeline, sink: str, known: CheckpointReads) -> bool:
    """Whether no read of a sink is known. A sink may omit some of the sources, so one known read is enough."""
    names = {SourceRead(source, sink).name for source in one.sources}
    return names.isdisjoint(known.begins) and names.isdisjoint(known.kept)


def _begin(one: Pipeline, read: SourceRead, known: CheckpointReads, gone: Collection[str]) -> Place:
    prefix = f"{_spelt(read.source)}__"
    siblings = {name: begin for name, begin in known.begins.items() if name.startswith(prefix) and begin.offsets}
    if not siblings:  # a source that was removed is added again
        siblings = {name: found.place for name, found in known.kept.items() if name.startswith(prefix)}
    if not siblings:
        missing = [name for name in gone if not any(name.startswith(f"{_spelt(source)}__") for source in one.sources)]
        if missing:
            raise PipelineError(
                f"pipeline {one.name}: its checkpoint has the reads {', '.join(missing)} and none of a source "
                f"{read.source!r}, which would be read from its start: give the source its old name, or {NEW_PIPELINE}"
            )
        return Place({})
    renamed = [name for name in siblings if name in gone]
    comes = read.sink is None or _is_new(one, read.sink, known)
    if comes and renamed and len({tuple(sorted(begin.offsets.items())) for begin in siblings.values()}) > 1:
        raise PipelineError(
            f"pipeline {one.name}: its checkpoint has the reads {', '.join(renamed)}, whose sink the pipeline no "
            f"longer has, and the sinks have reached different offsets, so it is unknown where {read.name} continues: "
            "give the sink its old name, or run the pipeline without the new one first"
        )
    return _lowest(siblings.values())


def _lowest(places: Iterable[Place]) -> Place:
    """The lowest offset of each partition, with the topic's id and the leader epoch or batch mark at that offset."""
    offsets: dict[TopicPartition, int] = {}
    ids: dict[str, str] = {}
    epochs: dict[TopicPartition, int] = {}
    marks: dict[TopicPartition, BatchMark] = {}
    for place in places:
        ids = {**place.ids, **ids}
        lower = [name for name, offset in place.offsets.items() if offset < offsets.get(name, offset + 1)]
        offsets |= {name: place.offsets[name] for name in lower}
        for name in lower:
            epochs.pop(name, None)
            marks.pop(name, None)
        epochs |= {name: place.epochs[name] for name in lower if name in place.epochs}
        marks |= {name: place.marks[name] for name in lower if name in place.marks}
    return Place(offsets, ids, epochs=epochs, marks=marks)


def starting_offsets(begin: Place, partitions: Iterable[TopicPartition], otherwise: int) -> str:
    """The value of ``startingOffsets`` for exactly these partitions, with the identities of their topics and logs.

    :param otherwise: the start of the partitions that the checkpoint does not know; -2 is the earliest offset.
    """
    offsets = {name: begin.offsets.get(name, otherwise) for name in partitions}
    return json.dumps(begin._replace(offsets=offsets, start={}).as_json())


__all__ = [
    "CheckpointReads",
    "ReadStart",
    "SourceRead",
    "begins_of",
    "keep_reads",
    "kept_of",
    "known_reads",
    "reads_of",
    "starting_offsets",
]
