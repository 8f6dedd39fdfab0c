"""A world from a seed: which programs, which settings, which faults; its run, and what the checkers say of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oncelog.broker.log import checkpoints
from oncelog.broker.server.server import Server
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.records.batch import decode_records, iter_headers
from oncelog.testing.simulation import Simulation, run_simulation, simulation_folder
from oncelog.testing.simulation.faults import FaultInjector, PlannedFault, plan
from oncelog.testing.simulation.timeline import Timeline
from oncelog.types import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, IsolationLevel, TopicPartition
from tests.simulation import logs
from tests.simulation.checkers import breaches, share_lost
from tests.simulation.forgotten import noted_expiry
from tests.simulation.hanging import end_hanging, note_cut_markers
from tests.simulation.history import History, Sample, printed
from tests.simulation.programs import (
    Copier,
    Deserter,
    Program,
    Sampler,
    Watcher,
    read_all,
)
from tests.simulation.scenes import draw
from tests.simulation.sharers import Sharer

TIMEOUT_S = 900.0
"""So long may it take after that until everything is done."""
OFFSETS_PARTITIONS = 3
"""As many as a simulated broker's ``__consumer_offsets`` has."""
DAY_MS = 86_400_000
"""After that brokers forget producers, unless a scene says otherwise."""


@dataclass
class Outcome:
    """What became of one seed."""

    seed: int
    planned: Sequence[PlannedFault]
    breaches: list[str]
    world: Simulation
    history: History = field(repr=False)

    @property
    def fingerprint(self) -> str:
        return self.world.timeline.fingerprint


class _Errors(logging.Handler):
    """Errors that are logged while a world runs."""

    def __init__(self, found: list[str], foreseen: Collection[str]) -> None:
        super().__init__(logging.ERROR)
        self._found = found
        self._foreseen = foreseen

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {record.exc_info[1]!r}"
        if not any(words in text for words in self._foreseen):
            self._found.append(text)


class World:
    """Everything that a seed decides.

    :param left_out: numbers of faults that do not happen.
    """

    def __init__(self, seed: int, left_out: Iterable[int] = (), scene: str | None = None) -> None:
        self.seed = seed
        self.scene, self._rng = draw(seed, scene)
        self.history = History()
        whole = plan(seed, kinds=self.scene.kinds, begin_s=1.0, end_s=self.scene.calm_s - 2, most=self.scene.most)
        self.planned = [fault for number, fault in enumerate(whole) if number not in set(left_out)]
        self.programs: list[Program] = []

    @property
    def producer_id_expiration_ms(self) -> int:
        return int(str(self.scene.settings.get("producer.id.expiration.ms", DAY_MS)))

    async def main(self, world: Simulation) -> None:
        """The whole course of the world; called in the simulation."""
        scene = self.scene
        world.machine.sync_s = scene.sync_s
        world.broker.server.broker.metadata.finalize_features(scene.features)
        faults = asyncio.ensure_future(FaultInjector(world, self.planned).run(scene.calm_s))
        await self._make_topics(world)
        wheres = [TopicPartition(topic, index) for topic in scene.topics for index in range(scene.partitions)]
        self._people(world, wheres)
        helpers = [program for program in self.programs if isinstance(program, Watcher | Sampler)]
        others = Watcher | Sampler | Copier | Deserter | Sharer
        workers = [program for program in self.programs if not isinstance(program, others)]
        world.broker.at_start.append(lambda server: self._watch(world, server, wheres))
        world.broker.at_start.append(lambda server: note_cut_markers(server, self.history))
        if world.broker.is_running:
            self._watch(world, world.broker.server, wheres)
            note_cut_markers(world.broker.server, self.history)
        await faults
        if not await self._until(world, lambda: all(program.done for program in workers)):
            self.history.unfinished += [f"{one.name} is not done" for one in workers if not one.done]
            return
        if self.history.cut_markers:
            await end_hanging(world, self.history, wheres)
        if not await self._until(world, lambda: self._is_stable(world, wheres)):
            self.history.unfinished.append("a transaction has no end: the last stable offset stays behind")
            return
        if self.scene.rest_s:
            await asyncio.sleep(self.scene.rest_s)
        await self._copied(world)
        await self._shared(world, wheres)
        for program in helpers:
            program.done = True
        if not await self._until(world, lambda: not any(process.alive for process in world.processes.values())):
            self.history.unfinished += [f"{one.name} does not stop" for one in world.processes.values() if one.alive]
            return
        await self._last_looks(world, wheres)

    async def _make_topics(self, world: Simulation) -> None:
        scene = self.scene
        while True:
            try:
                async with Admin(bootstrap_servers=world.bootstrap_servers) as admin:
                    known = await admin.list_topics()
                    missing = [name for name in scene.topics if name not in known]
                    await admin.create_topics(
                        NewTopic(name, scene.partitions, scene.nodes, topic_configs=scene.topic_settings)
                        for name in missing
                    )
                return
            except KafkaError as error:
                world.note(f"topics: {error.error.name}")
                await asyncio.sleep(1)

    def _people(self, world: Simulation, wheres: Sequence[TopicPartition]) -> None:
        history = self.history
        self.programs = [
            *self.scene.people(self.scene, world, history, self._rng),
            Watcher(world, history, "watcher", wheres),
            Sampler(world, history, "sampler", wheres, ["copiers"] if history.copied else []),
        ]
        for program in self.programs:
            world.process(program.name, program.main, alone=program.alone)

    def _watch(self, world: Simulation, server: Server, wheres: Sequence[TopicPartition]) -> None:
        """Look at the partitions' offsets as long as this life of the broker lasts."""
        if not world.broker.is_running or world.broker.server is not server:
            return
        for where in wheres:
            partition = server.broker.partition(where)
            if partition is not None:
                self.history.samples.append(
                    Sample(
                        where,
                        partition.readable_to(IsolationLevel.READ_UNCOMMITTED),
                        partition.readable_to(IsolationLevel.READ_COMMITTED),
                        world.loop.now_ns,
                    )
                )
        world.loop.call_later(self.scene.watch_s, self._watch, world, server, wheres)

    @staticmethod
    def _is_stable(world: Simulation, wheres: Sequence[TopicPartition]) -> bool:
        partitions = [world.broker.server.broker.partition(where) for where in wheres]
        return all(
            found is not None
            and found.readable_to(IsolationLevel.READ_COMMITTED) == found.readable_to(IsolationLevel.READ_UNCOMMITTED)
            for found in partitions
        )

    async def _until(self, world: Simulation, done: Callable[[], bool]) -> bool:
        end = world.now_s + TIMEOUT_S
        while not done():
            if world.now_s > end:
                return False
            await asyncio.sleep(1)
        return True

    async def _copied(self, world: Simulation) -> None:
        """Wait until the copiers have caught up."""
        copiers = [program for program in self.programs if isinstance(program, Copier)]
        end = world.now_s + TIMEOUT_S
        for source, target in self.history.copied:
            sources = [TopicPartition(source, index) for index in range(self.scene.partitions)]
            targets = [TopicPartition(target, index) for index in range(self.scene.partitions)]
            while True:
                wanted = sum(map(len, (await read_all(world, sources, "read_committed")).values()))
                got = sum(map(len, (await read_all(world, targets, "read_committed")).values()))
                if got >= wanted:
                    break
                if world.now_s > end:
                    self.history.unfinished.append(f"of {wanted} records of {source} {got} were copied to {target}")
                    break
                await asyncio.sleep(5)
        for program in copiers:
            program.done = True

    async def _shared(self, world: Simulation, wheres: Sequence[TopicPartition]) -> None:
        """Wait until share groups have been given everything, and then some time, in which nothing may come again."""
        sharers = [program for program in self.programs if isinstance(program, Sharer)]
        end = world.now_s + TIMEOUT_S
        while sharers and world.now_s < end:
            committed = await read_all(world, wheres, "read_committed")
            if not share_lost.missing(self.history, committed, await read_all(world, wheres, "read_uncommitted")):
                break
            await asyncio.sleep(5)
        await asyncio.sleep(max((2 * program.group.lock_ms / 1000 for program in sharers), default=0))
        for program in sharers:
            program.done = True

    async def _last_looks(self, world: Simulation, wheres: Sequence[TopicPartition]) -> None:
        history = self.history
        history.looked_ns = world.loop.now_ns
        history.clean_to = dict(
            checkpoints.read_offset_checkpoint(world.machine.content, checkpoints.CLEANER_OFFSET_CHECKPOINT)
        )
        history.uncommitted = await read_all(world, wheres, "read_uncommitted")
        history.committed = await read_all(world, wheres, "read_committed")
        history.dead_letters = {
            group.name: set(_dead_letters_in(world, group.dead_letter_topic))
            for group in history.shared.values()
            if group.dead_letter_topic
        }
        memory = world.broker.server.broker.request_memory
        await self._until(world, lambda: not memory.taken_bytes)  # of the last readers something may be on its way
        history.taken_bytes = memory.taken_bytes
        if self.scene.end == "power":  # what is being written to the disk must arrive there
            await self._until(world, lambda: _is_synced(world))
        history.before_restart = _knowledge(world, wheres, history.compacted)
        history.producers = _producers(world, wheres)
        history.log_findings = logs.findings(
            world.broker.server.broker,
            [*wheres, *(TopicPartition(CONSUMER_OFFSETS_TOPIC, index) for index in range(OFFSETS_PARTITIONS))],
            history.compacted,
            history.clean_to,
            producer_expiration_ms=self.producer_id_expiration_ms,
            unclean_elections=self.scene.topic_settings.get("unclean.leader.election.enable") == "true",
        )
        if self.scene.end == "stop":
            await world.broker.stop()
        else:
            world.broker.crash(power=self.scene.end == "power")
        world.broker.start()
        history.after_recovery = _knowledge(world, wheres, history.compacted)
        history.after_restart = await read_all(world, wheres, "read_committed")


def _dead_letters_in(world: Simulation, topic: str) -> Iterator[tuple[TopicPartition, int]]:
    """The records that have dead letters in a topic."""
    broker = world.broker.server.broker
    info = broker.metadata.topic(topic)
    for index in range(info.partitions if info is not None else 0):
        log = broker.partitions()[TopicPartition(topic, index)].log
        offset = log.log_start_offset
        while offset < log.high_watermark:
            read = log.read(offset, 1 << 20, log.high_watermark, at_least_one_batch=True)
            assert not isinstance(read, Error)
            data = b"".join([piece.read_bytes() for piece in read.slices])
            for position, header in iter_headers(data):
                for record in decode_records(data, position):
                    where = {name: (value or b"").decode() for name, value in record.headers}
                    place = TopicPartition(where["__dlq.errors.topic"], int(where["__dlq.errors.partition"]))
                    yield place, int(where["__dlq.errors.offset"])
                offset = header.base_offset + header.last_offset_delta + 1


def _is_synced(world: Simulation) -> bool:
    partitions = world.broker.server.broker.partitions().values()
    return all(partition.log.flushed_offset >= partition.log.log_end_offset for partition in partitions)


def _knowledge(world: Simulation, wheres: Sequence[TopicPartition], compacted: Collection[str]) -> dict[str, str]:
    """What the broker holds in memory of what its logs say.

    Of aborted transactions that were compacted away an entry may be left or not: that nobody reads them is what counts.
    Of a producer of which compaction has left only a marker without its record a start learns nothing, as in Apache
    Kafka (``ProducerAppendInfo.append``).
    """
    broker = world.broker.server.broker
    found: dict[str, str] = {}
    for where in wheres:
        partition = broker.partition(where)
        if partition is None:
            continue
        log = partition.log
        found[f"the end of {where}"] = f"{log.log_end_offset}, stable to {log.last_stable_offset}"
        if where.topic not in compacted:
            found[f"the aborted transactions of {where}"] = str(log.aborted_entries(0, log.log_end_offset))
        for entry in log.active_producers():
            if where.topic in compacted and entry.last_offset < 0:
                continue
            # compaction may have removed all of its batches but the last one
            batches = entry.batches[-1:] if where.topic in compacted else entry.batches
            sequences = ", ".join(f"{batch.first_sequence} to {batch.last_sequence}" for batch in batches)
            found[f"producer {entry.producer_id} of {where}"] = (
                f"epoch {entry.producer_epoch}, sequences {sequences} at {entry.last_offset}, "
                f"open since {entry.current_txn_first_offset}, coordinator epoch {entry.coordinator_epoch}"
            )
    if broker.metadata.topic(SHARE_GROUP_STATE_TOPIC) is not None:
        for states in broker.share_states.runtime.shards():
            found.update({f"what is stored of {key}": str(state) for key, state in states.states.items()})
    for shard in broker.transactions.runtime.shards():
        for known in shard.entries():
            txn = known.txn
            found[f"transactional id {txn.transactional_id}"] = (
                f"{txn.state.label}, {txn.producer}, {sorted(txn.partitions)}"
            )
    return found


def _producers(world: Simulation, wheres: Sequence[TopicPartition]) -> list[tuple[bytes, int]]:
    broker = world.broker.server.broker
    return [
        (printed(record), header.producer_id)
        for where in wheres
        if (partition := broker.partition(where)) is not None
        for header, batch in partition.log.batches(0)
        if not header.is_control
        for record in decode_records(batch)
    ]


def run(seed: int, *, left_out: Iterable[int] = (), keep: bool = False, scene: str | None = None) -> Outcome:
    """One seed's world from its beginning to its end, judged; ``scene``: of that one, whatever the seed has drawn."""
    made = World(seed, left_out, scene)
    history = made.history
    handler = _Errors(history.errors, made.scene.foreseen)
    logger = logging.getLogger("oncelog")
    with simulation_folder() as folder:
        world = Simulation(
            seed, Path(folder), nodes=made.scene.nodes, settings=made.scene.settings, network=made.scene.network,
            timeline=Timeline(keep=keep), limit_s=made.scene.calm_s + 3 * TIMEOUT_S,
        )  # fmt: skip
        propagates, logger.propagate = logger.propagate, False  # what is logged is judged, not shown
        logger.addHandler(handler)
        try:
            with noted_expiry(history, made.producer_id_expiration_ms):
                run_simulation(world, made.main)
        except OncelogError as error:  # it does not end, or a broker does not start
            history.unfinished.append(str(error))
        finally:
            logger.removeHandler(handler)
            logger.propagate = propagates
    history.errors += [
        f"{found.get('message')}: {found.get('exception')!r}"
        for found in world.loop.failures
        if not (isinstance(found.get("exception"), KafkaError) and "future" in found)  # of a program that was killed
    ]
    history.errors += [
        f"{process.name} raised {process.failure!r}" for process in world.processes.values() if process.failure
    ]
    found = (
        breaches(history, made.scene.waived)
        if not history.unfinished
        else [f"liveness: {text}" for text in history.unfinished]
    )
    return Outcome(seed, made.planned, found, world, history)
