"""Runs a mirror in rounds, each of which moves the target from one consistent cut of the source to a later one.

Called by ``oncelog.cli.programs.mirror``. A round reads the ends of all partitions twice
(:class:`~oncelog.apps.mirror.cut.CutSample`), looks for new topics and partitions, scans the records that it has not
seen yet, chooses a cut, and writes to the target in one transaction: the committed records up to the cut, the
translated offsets of groups, how far the source is mirrored, and the new runs of the offset map. The state on the
target is the only valid one: after an error the mirror reads it from there again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from oncelog.apps.mirror.cut import CutSample, PartitionView, choose_cut
from oncelog.apps.mirror.groups import GroupPositions, LateOffsets, asked_offsets, kept_of, settable
from oncelog.apps.mirror.mirror_errors import FENCED, PASSING, MirrorFenced, MirrorIncomplete, MirrorRefused, RangeGone
from oncelog.apps.mirror.mirrored_topics import largest_batches, make_alike
from oncelog.apps.mirror.offset_map import (
    MirroredPosition,
    MirrorState,
    Run,
    group_record,
    is_replaced,
    mirror_record,
    position_record,
    runs_record,
)
from oncelog.apps.mirror.other_mirrors import clashing, holding_others, mirrors_into
from oncelog.apps.mirror.reading import PACK_BYTES, CombinedBatch, committed_batches, offsets_in, packed, scan
from oncelog.apps.mirror.settings import MirrorProgress, MirrorSettings
from oncelog.apps.mirror.target import Target
from oncelog.apps.mirror.waiting import OpenTransactions
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import fetch_stored
from oncelog.client.aio.offset_lookups import EARLIEST, LATEST
from oncelog.client.core.admin.admin_types import TopicDescription
from oncelog.client.core.structs import OffsetAndMetadata
from oncelog.errors import Error, InvariantError, KafkaError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.types import CONSUMER_OFFSETS_TOPIC, IsolationLevel, TopicPartition

_CONCURRENT_PARTITIONS = 16
_SETTINGS_SECONDS = 30.0
_FORGET_SECONDS = 60.0
_QUIET_SECONDS = 30.0
"""How old, in seconds, the mirror's own positions on the target may become while no records are copied."""
_ASK_AGAIN_SECONDS = 86_400.0
_ATTEMPTS = 5

T = TypeVar("T")
Say = Callable[[str], None]


class Mirror:
    """One mirror. Call :meth:`open`, then :meth:`round` repeatedly.

    :param say: called with messages for people, mostly once for each text.
    """

    def __init__(self, source: Admin, target: Admin, settings: MirrorSettings, say: Say) -> None:
        self._source = source
        self._target = Target(target, settings.name, settings.timeout_ms)
        self._settings = settings
        self._say = say
        self._reported: set[str] = set()
        self._state = MirrorState()
        self._views: dict[TopicPartition, PartitionView] = {}
        self._topics: dict[str, TopicDescription] = {}
        self._stopped: set[str] = set()
        self._largest: dict[str, int] = {}
        self._samples: deque[CutSample] = deque(maxlen=64)
        self._ends: dict[TopicPartition, int] = {}
        self._open_transactions = OpenTransactions()
        self._reads_offsets = True
        self._target_cluster = ""
        self._late = LateOffsets({}, {})
        self._asked_at = 0.0
        self._alike_at = 0.0
        self._written_at = 0.0
        self._forgot_at = 0.0

    def say_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._say(text)

    # --- beginning

    async def open(self) -> None:
        """Fence other mirrors of the same name, and begin where the last committed round ended.

        :raises MirrorRefused: the name mirrors another cluster, or topics of the target have records that are not from
            the source.
        """
        await self._with_retries(self._open)

    async def _open(self) -> None:
        source = (await self._source.describe_cluster()).cluster_id or ""
        target = (await self._target.admin.describe_cluster()).cluster_id or ""
        if source == target:
            raise MirrorRefused(f"source and target are the same cluster, {source}: a mirror needs two")
        self._target_cluster = target
        self._state = await self._target.open()
        self._views.clear()
        self._samples.clear()
        self._alike_at = 0.0
        known = self._state.source_cluster
        if known is not None and known != source:
            raise MirrorRefused(
                f"the mirror {self._settings.name!r} of this target mirrors the cluster {known}, not {source}: use "
                "another --name"
            )
        if known is None:
            await self._target.write_map([mirror_record(source, target)])
            await self._target.transactions.end(commit=True)
        await self._refresh(first=True)
        await self._ask_late()

    async def stable_ends(self) -> dict[TopicPartition, int]:
        """The current last stable offsets of the source; transactions that are being ended are awaited first."""
        found = await self._source.settled_ends(self._views)
        return {name: item.offset for name, item in found.items()}

    def has_reached(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Whether the target has everything before ``ends`` of the partitions that are still mirrored."""
        return all(self._views[name].position >= end for name, end in ends.items() if name in self._views)

    def held_back_by(self, now_s: float) -> str | None:
        """Describe the transactions that have kept the target incomplete for some time; None if there is none that was
        not described before.

        :param now_s: a monotonic time.
        """
        return self._open_transactions.describe(self._views.values(), now_s)

    def check_complete(self) -> None:
        """Check that all chosen topics are mirrored. Call it before waiting for the target to be complete, and before
        reporting that it is.

        :raises MirrorRefused: topics that should be mirrored are not.
        """
        missing = sorted(self._stopped.union(self._settings.selection.names) - self._topics.keys())
        if missing or not self._topics:
            raise MirrorIncomplete(missing)

    # --- topics

    async def _refresh(self, *, first: bool = False) -> None:
        """Begin to mirror new topics and partitions, and drop deleted ones."""
        chosen = self._settings.selection.chosen(await self._source.describe_topics())
        for name in self._stopped:
            chosen.pop(name, None)
        for name in sorted(self._topics.keys() - chosen.keys()):
            self._drop(name, f"topic {name!r} is no longer on the source: its mirrored records stay on the target")
        for name, topic in list(chosen.items()):
            if not self._is_the_same(name, topic):
                del chosen[name]
        counts = {name: len(topic.partitions) for name, topic in chosen.items()}
        before = {name: len(topic.partitions) for name, topic in self._topics.items()}
        now = real_time.monotonic()
        if counts != before or now - self._alike_at > _SETTINGS_SECONDS:
            await make_alike(self._source, self._target.admin, chosen)
            self._largest = await largest_batches(self._target.admin, sorted(chosen))
            await self._adopt(chosen, first=first)
            self._alike_at = now
        await self._view_group_offsets()

    def _is_the_same(self, name: str, topic: TopicDescription) -> bool:
        """Whether the topic is still the one that was mirrored under its name; if it was recreated, the mirror stops
        mirroring it."""
        known = self._state.positions.get(TopicPartition(name, 0))
        if known is None or not is_replaced(known.source_id, topic.topic_id.hex()):
            return True
        self._stop(
            name,
            f"topic {name!r} was deleted and recreated on the source: it is no longer mirrored; to mirror the new "
            "topic, "
            "delete it on the target and use another --name",
        )
        return False

    def _stop(self, topic: str, why: str) -> None:
        self._stopped.add(topic)
        self._drop(topic, why)

    def _drop(self, topic: str, why: str) -> None:
        self._topics.pop(topic, None)
        for name in [name for name in self._views if name.topic == topic]:
            del self._views[name]
        self.say_once(why)

    async def _adopt(self, chosen: Mapping[str, TopicDescription], *, first: bool) -> None:
        """Open a view of every partition of the chosen topics; the positions of new partitions are written to the
        target first."""
        new = await self._compare_ids(chosen)
        if not self._settings.into_existing:
            self._leave_out(await holding_others(self._target.admin, new), first=first)
        new = {name: position for name, position in new.items() if name.topic not in self._stopped}
        await self._begin_at(new, first=first)
        for topic, description in chosen.items():
            if topic in self._stopped:
                continue
            self._topics[topic] = description
            for partition in description.partitions:
                name = TopicPartition(topic, partition.partition)
                if name not in self._views:
                    self._views[name] = PartitionView(name, self._state.positions[name].offset)

    async def _compare_ids(self, chosen: Mapping[str, TopicDescription]) -> dict[TopicPartition, MirroredPosition]:
        """The positions for partitions that have none yet.

        :raises MirrorRefused: a topic of the target was recreated since the mirror wrote to it.
        """
        there = (
            {topic.name: topic for topic in await self._target.admin.describe_topics(sorted(chosen))} if chosen else {}
        )
        new: dict[TopicPartition, MirroredPosition] = {}
        named: dict[TopicPartition, MirroredPosition] = {}
        for topic, description in chosen.items():
            source_id, target_id = description.topic_id.hex(), there[topic].topic_id.hex()
            for partition in description.partitions:
                name = TopicPartition(topic, partition.partition)
                known = self._state.positions.get(name)
                if known is None:
                    new[name] = MirroredPosition(0, source_id, target_id)
                elif is_replaced(known.target_id, target_id):
                    raise MirrorRefused(
                        f"topic {topic!r} was deleted and recreated on the target since it was mirrored: delete it "
                        "there and mirror it under another --name"
                    )
                elif known.take_ids(source_id, target_id):
                    named[name] = known
        await self._write_named(named)
        return new

    async def _write_named(self, named: Mapping[TopicPartition, MirroredPosition]) -> None:
        """Store the ids of topics that had none before, so that their recreation is detected from now on."""
        if named:
            await self._target.write_map([position_record(name, position) for name, position in sorted(named.items())])
            await self._target.transactions.end(commit=True)

    def _leave_out(self, reasons: Mapping[str, str], *, first: bool) -> None:
        """Handle topics that must not be mirrored: refuse the mirror when it starts; later, stop mirroring those
        topics."""
        for topic, why in sorted(reasons.items()):
            if first:
                raise MirrorRefused(why)
            self._stop(topic, why)

    async def _begin_at(self, new: Mapping[TopicPartition, MirroredPosition], *, first: bool) -> None:
        """Write where the mirroring of new partitions begins (at their current first offset), and look for other
        mirrors of them.

        The positions are written before the search for other mirrors, so that of two mirrors that begin at the same
        time at least one finds the other.
        """
        if not new:
            return
        begins = await self._source.list_offsets(dict.fromkeys(new, EARLIEST))
        for name, position in new.items():
            position.offset = begins[name].offset
        await self._target.write_map([position_record(name, position) for name, position in sorted(new.items())])
        into_target = await mirrors_into(self._target.admin, but_for=self._target.map.topic)
        into_source = await mirrors_into(self._source)
        clashes = clashing(new, self._target_cluster, into_target, into_source)
        await self._target.transactions.end(commit=not clashes)
        if not clashes:
            self._state.positions.update(new)
            return
        self._leave_out(clashes, first=first)
        await self._begin_at({name: at for name, at in new.items() if name.topic not in clashes}, first=first)

    async def _view_group_offsets(self) -> None:
        """Add the partitions of ``__consumer_offsets`` once they exist, if they may be read."""
        if not self._reads_offsets or any(name.topic == CONSUMER_OFFSETS_TOPIC for name in self._views):
            return
        try:
            (topic,) = await self._source.describe_topics([CONSUMER_OFFSETS_TOPIC])
            names = [TopicPartition(topic.name, item.partition) for item in topic.partitions]
            begins = await self._source.list_offsets(dict.fromkeys(names, EARLIEST))
            await fetch_stored(self._source, names[0], begins[names[0]].offset, IsolationLevel.READ_COMMITTED, 1)
        except KafkaError as error:
            if error.error is Error.UNKNOWN_TOPIC_OR_PARTITION:
                return
            if error.error is not Error.TOPIC_AUTHORIZATION_FAILED:
                raise
            self._reads_offsets = False
            self.say_once(
                f"{CONSUMER_OFFSETS_TOPIC} of the source may not be read: groups' offsets are requested instead. They "
                "are never ahead of the records, but those of a transaction may follow one round after its records"
            )
            return
        source_id = topic.topic_id.hex()
        known = self._state.positions.get(names[0])
        if known is not None and is_replaced(known.source_id, source_id):
            raise MirrorRefused(f"{CONSUMER_OFFSETS_TOPIC} of the source was recreated: mirror under another --name")
        positions = self._state.positions
        await self._write_named(
            {n: positions[n] for n in names if n in positions and positions[n].take_ids(source_id, "")}
        )
        new = {name: MirroredPosition(0, source_id, "") for name in names if name not in positions}
        await self._begin_at(new, first=False)
        for name in names:
            self._views[name] = PartitionView(name, self._state.positions[name].offset)

    # --- a round

    async def round(self) -> MirrorProgress:
        """Copy up to the latest known consistent cut of the source, or part of the way.

        :raises MirrorRefused: continuing would lose records, or another mirror of the same name has taken over.
        """
        return await self._with_retries(self._round)

    async def _with_retries(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await ``work``. After an error that may not recur, read the state from the target again and repeat."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if attempt > 1:
                    await self._open()
                return await work()
            except RangeGone:  # retention removed the range from the source while it was copied
                if not self._settings.allow_loss or attempt == _ATTEMPTS:
                    raise
            except KafkaError as error:
                if error.error in FENCED:
                    raise MirrorFenced(self._settings.name, self._target.timeout_ms) from error
                if (not error.retriable and error.error not in PASSING) or attempt == _ATTEMPTS:
                    raise
                self._say(f"a round begins again: {error}")
        raise InvariantError("a round neither ended nor failed")

    async def _round(self) -> MirrorProgress:
        if real_time.monotonic() - self._asked_at > _ASK_AGAIN_SECONDS:
            await self._ask_late()
        asked = {} if self._reads_offsets else await self._asked_offsets()
        known = list(self._views)
        before = await self._ends_of(known)
        sample = CutSample(before, await self._ends_of(known))
        self._samples.append(sample)
        await self._refresh()
        if not self._topics:
            self.say_once("the source has no chosen topic yet; the mirror waits for one")
        caught_up = all(self._views[name].position >= end for name, end in sample.after.items() if name in self._views)
        self._ends = await self._ends_of(list(self._views))
        if not await self._scan():
            return self._progress(0, 0, 0, caught_up=False)
        cut = self._choose(before)
        records, size_bytes, groups = await self._copy_to_cut(cut, asked)
        return self._progress(
            records, size_bytes, groups, caught_up=caught_up and self._views.keys() <= sample.after.keys()
        )

    def _progress(self, records: int, size_bytes: int, groups: int, *, caught_up: bool) -> MirrorProgress:
        lag = dict.fromkeys(self._topics, 0)
        for name, view in self._views.items():
            if name.topic in lag:
                lag[name.topic] += max(0, self._ends.get(name, 0) - view.position)
        return MirrorProgress(records, size_bytes, groups, lag, caught_up)

    async def _ends_of(self, names: list[TopicPartition]) -> dict[TopicPartition, int]:
        if not names:
            return {}
        found = await self._source.list_offsets(dict.fromkeys(names, LATEST))
        return {name: item.offset for name, item in found.items()}

    async def _scan(self) -> bool:
        """Scan all partitions up to their ends; returns False if a partition had to skip records that the source has
        deleted."""
        places = asyncio.Semaphore(_CONCURRENT_PARTITIONS)

        async def one(view: PartitionView) -> None:
            async with places:
                await scan(self._source, view, self._ends[view.name])

        views = [view for name, view in self._views.items() if view.scanned < self._ends[name]]
        results = await asyncio.gather(*(one(view) for view in views), return_exceptions=True)
        for result in results:
            if isinstance(result, RangeGone) and self._settings.allow_loss:
                self._say(f"{result.name} continues at offset {result.first}: earlier records are lost to the mirror")
                self._views[result.name] = PartitionView(result.name, result.first)
            elif result is not None:
                raise result
        return not any(isinstance(result, RangeGone) for result in results)

    def _choose(self, decided: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The cut of this round, limited to about ``max_bytes``; it is larger if records that must stay together
        are."""
        share = self._settings.max_bytes // max(1, sum(view.position < view.scanned for view in self._views.values()))
        while True:
            start = {name: view.boundary(share) for name, view in self._views.items()}
            cut = choose_cut(self._views, decided, start, self._samples)
            moved = any(offset > self._views[name].position for name, offset in cut.items())
            if moved or all(start[name] >= view.scanned for name, view in self._views.items()):
                return cut
            share = max(1, share * 2)

    async def _copy_to_cut(self, cut: Mapping[TopicPartition, int], asked: GroupPositions) -> tuple[int, int, int]:
        """Copy up to ``cut`` in one transaction on the target; returns the number of records, bytes and groups in
        it."""
        ahead = {name: offset for name, offset in cut.items() if offset > self._views[name].position}
        copied = await self._copy({name: end for name, end in ahead.items() if name.topic != CONSUMER_OFFSETS_TOPIC})
        brought: GroupPositions = {}
        for name, end in ahead.items():
            if name.topic == CONSUMER_OFFSETS_TOPIC:
                brought |= await offsets_in(self._source, name, self._views[name].position, end)
        groups = await self._write_groups(asked, self._late.due(brought, cut) | brought, cut)
        late = real_time.monotonic() - self._written_at >= _QUIET_SECONDS
        if copied[0] or groups or (ahead and late):
            await self._write_positions(cut)
        for name, offset in ahead.items():
            self._views[name].move(offset)
        return *copied, groups

    async def close(self) -> None:
        """Store the mirror's position on the target for the next start."""
        if any(view.position > self._state.positions[name].offset for name, view in self._views.items()):
            await self._write_positions({name: view.position for name, view in self._views.items()})

    async def give_up(self) -> None:
        """Abort the open transaction on the target, so that its readers need not wait for the timeout."""
        # a failed abort is ignored: the transaction times out anyway, and the caller reports why the mirror gave up
        with suppress(KafkaError):
            await self._target.transactions.end(commit=False)

    async def _write_positions(self, cut: Mapping[TopicPartition, int]) -> None:
        """Write the mirror's positions and the new runs of the offset map, and commit the round's transaction."""
        records: list[tuple[bytes, bytes | None]] = []
        for name, offset in sorted(cut.items()):
            position = self._state.positions[name]
            if offset > position.offset:
                position.offset = offset
                records.append(position_record(name, position))
        for name, runs in sorted(self._state.maps.items()):
            records += [runs_record(name, number, runs.chapters[number]) for number in sorted(runs.changed)]
            runs.changed.clear()
        records += await self._outdated_chapters()
        await self._target.write_map(records)
        await self._target.transactions.end(commit=True)
        self._written_at = real_time.monotonic()

    async def _outdated_chapters(self) -> list[tuple[bytes, bytes | None]]:
        """Tombstones for the chapters of the offset map whose records the source has deleted; empty if the last check
        was less than a minute ago.
        """
        now = real_time.monotonic()
        if now - self._forgot_at < _FORGET_SECONDS:
            return []
        self._forgot_at = now
        names = [name for name in sorted(self._views) if name in self._state.maps]
        begins = await self._source.list_offsets(dict.fromkeys(names, EARLIEST))
        return [
            runs_record(name, number, None)
            for name in names
            for number in self._state.maps[name].forget_before(begins[name].offset)
        ]

    async def _copy(self, cut: Mapping[TopicPartition, int]) -> tuple[int, int]:
        """Copy the committed records up to ``cut``; each request contains one batch of each of several partitions.
        Returns the number of records and bytes."""
        records = size_bytes = 0
        waiting = sorted(cut)
        reading: dict[TopicPartition, AsyncIterator[CombinedBatch]] = {}
        while waiting or reading:
            while waiting and len(reading) < _CONCURRENT_PARTITIONS:
                name = waiting.pop(0)
                begin = self._views[name].position
                largest = min(PACK_BYTES, self._largest[name.topic] * 3 // 4)
                reading[name] = packed(committed_batches(self._source, name, begin, cut[name]), begin, largest)
            names = list(reading)
            found = await asyncio.gather(*(anext(reading[name], None) for name in names))
            batches = {name: item for name, item in zip(names, found, strict=True) if item is not None}
            for name in names:
                if name not in batches:
                    del reading[name]
            if not batches:
                continue
            offsets = await self._target.transactions.append({name: item.batch for name, item in batches.items()})
            for name, item in batches.items():
                self._map(name, item, offsets[name])
                records += item.batch.records
                size_bytes += len(item.batch.data)
        return records, size_bytes

    def _map(self, name: TopicPartition, item: CombinedBatch, offset: int) -> None:
        if offset < 0:
            raise KafkaError(Error.TRANSACTION_ABORTABLE, f"the answer for a batch of {name} was lost")
        for first, count in item.ranges:
            self._state.map_of(name).add(Run(first, offset, count))
            offset += count

    # --- groups

    async def _ask_late(self) -> None:
        """Request all positions of the source's groups, at the start and once a day, because the target deletes those
        of groups without members after a week."""
        self._asked_at = real_time.monotonic()
        self._late = LateOffsets(await self._asked_offsets(), await self._ends_of(list(self._views)))

    async def _asked_offsets(self) -> GroupPositions:
        """The current positions of the source's groups in the mirrored partitions; groups that may not be described are
        reported once."""
        found, denied = await asked_offsets(self._source, self._views, markers=self._reads_offsets)
        if denied:
            self.say_once(
                f"offsets of groups on the source cannot be requested, as that needs DESCRIBE on {', '.join(denied)}: "
                f"{'they come with the next commits' if self._reads_offsets else 'they are left alone'}"
            )
        return found

    async def _write_groups(
        self, asked: GroupPositions, brought: GroupPositions, cut: Mapping[TopicPartition, int]
    ) -> int:
        """Translate positions, and set them in the open transaction; returns the number of groups.

        :param asked: positions that the source reported; they are set only if they have changed.
        :param brought: positions from ``__consumer_offsets``; they are always set.
        """
        wanted: GroupPositions = {}
        for (group, name), position in (asked | brought).items():
            # the target cluster's own coordinator writes its offsets topic
            if name not in cut or name.topic == CONSUMER_OFFSETS_TOPIC:
                continue
            if position.offset > cut[name]:
                if self._reads_offsets:
                    self.say_once(f"group {group!r} has committed {position.offset} for {name}, which is past its end")
                continue
            translated = OffsetAndMetadata(await self._translated(name, position.offset), position.metadata)
            if self._state.groups.get((group, name)) != kept_of(translated) or (group, name) in brought:
                wanted[group, name] = translated
        # Without the source's offsets topic no marker follows a Spark query's mirrored batches: remove old markers,
        # from which a restart would write batches twice.
        if not self._reads_offsets:
            old = [key for key, kept in self._state.groups.items() if kept.metadata and key[1] in cut]
            wanted |= dict.fromkeys(old, OffsetAndMetadata(-1, ""))
        found = await settable(self._target.admin, wanted, self._state.groups)
        for group, why in found.left_alone.items():
            self.say_once(f"group {group!r} is left alone: {why}")
        records: list[tuple[bytes, bytes | None]] = []
        for group, offsets in found.positions.items():
            await self._target.transactions.add_offsets(group, offsets)
            for name, committed in offsets.items():
                self._state.groups[group, name] = kept_of(committed)
                records.append(group_record(group, name, kept_of(committed)))
        await self._target.write_map(records)
        return len(found.positions)

    async def _translated(self, name: TopicPartition, offset: int) -> int:
        """The offset on the target of the record with this offset on the source; an offset below 0 is returned
        unchanged."""
        translated = offset if offset < 0 else self._state.map_of(name).translate(offset)
        if translated is not None:
            return translated
        return (await self._target.admin.list_offsets({name: LATEST}))[name].offset


__all__ = ["Mirror"]
