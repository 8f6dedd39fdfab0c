"""The sink's protocol of micro-batches as a model for the explorer: the shipped decision, with Spark simplified.

Shipped: what a driver decides from marker and checkpoint (``spark.sink.marker``). Model: Spark's checkpoint with plans,
ends of batches and the sink's memory; drivers that take one step at a time, each of which may be left behind by the
next run and go on as a zombie; the destination, which fences at the beginning of a transaction, and holds records and
marker of a batch or neither. Copies of the checkpoint, markers that expire, and a destination that loses its newest
transaction are events of their own.

A plan is known by its batch and by the checkpoint that made it, and has the plan before it as its parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from oncelog.spark.options import OnMissingMarker
from oncelog.spark.sink.marker import (
    BatchPlan,
    LastWrite,
    Marker,
    OffsetLogEntry,
    PreviousBatch,
    Refuse,
    Skip,
    decide,
)
from tests.simulation.exploration.explorer import Step

RETENTION_MS: Final = 600_000
QUERY, GROUP, CLUSTER = "query", "group", "cluster"

TWICE = "a batch is written twice"
LEFT_OUT = "a batch is written whose predecessor is not there"
ANOTHER = "a batch is written that follows another one than the last"
NOT_THERE = "a batch counts as written and is not there"
REFUSED = "a query that was only killed is refused"


class Plan(NamedTuple):
    """``by``: the checkpoint that made it; ``at``: the retention periods before it was made."""

    batch: int
    by: int
    at: int

    def __str__(self) -> str:
        return f"batch {self.batch}" if not self.by else f"batch {self.batch} as the copy plans it"

    @property
    def planned(self) -> OffsetLogEntry:
        return OffsetLogEntry(self.batch, f"{self.batch}-{self.by}-{self.at}", self.at * RETENTION_MS * 2, "")


class Checkpoint(NamedTuple):
    """``ended``: so many batches have; ``since``: the first batch written without a break, -1 if none was begun."""

    plans: tuple[Plan, ...] = ()
    ended: int = 0
    since: int = -1

    def memory(self) -> LastWrite | None:
        return None if self.since < 0 else LastWrite(CLUSTER, GROUP, self.since)


At: TypeAlias = Literal["started", "fenced", "writes", "written"]


class Driver(NamedTuple):
    """A run of the query at one batch. ``holds``: nobody has fenced it since it began. ``zombie``: a later run has
    started."""

    checkpoint: int
    plan: Plan
    at: At = "started"
    holds: bool = False
    zombie: bool = False
    ended_before: int = 0

    def __str__(self) -> str:
        what = "zombie" if self.zombie else "run"
        return f"{what} of {'the copy' if self.checkpoint else 'the query'}, {self.plan}"


class World(NamedTuple):
    """``marker``: position in ``log`` after the batch that it names, 0 if there is none. ``refused``: checkpoints whose
    query has been refused. ``kills``, ``copies``, ``expiries``, ``losses``: so many may still happen."""

    checkpoints: tuple[Checkpoint, ...]
    drivers: tuple[Driver, ...]
    log: tuple[Plan, ...]
    marker: int
    periods: int
    refused: frozenset[int]
    disturbed: bool
    kills: int
    copies: int
    expiries: int
    losses: int


@dataclass(frozen=True)
class Bounds:
    """How much happens.

    :param empty: the checkpoint may be copied before the sink has written anything.
    """

    batches: int = 3
    kills: int = 2
    copies: int = 0
    expiries: int = 0
    losses: int = 0
    empty: bool = False


class Batches:
    """The model for the explorer."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds

    # --- Model

    def first(self) -> World:
        bounds = self._bounds
        return World(
            (Checkpoint(),), (), (), 0, 0, frozenset(), False,
            bounds.kills, bounds.copies, bounds.expiries, bounds.losses,
        )  # fmt: skip

    def steps(self, world: World) -> Iterator[Step[World]]:
        for number, checkpoint in enumerate(world.checkpoints):
            yield from self._starts(world, number, checkpoint)
        for driver in world.drivers:
            yield from self._driver(world, driver)
        if world.copies and len(world.checkpoints) == 1 and (world.checkpoints[0].since >= 0 or self._bounds.empty):
            copied = (*world.checkpoints, world.checkpoints[0])
            yield Step(
                "the checkpoint is copied",
                world._replace(checkpoints=copied, copies=world.copies - 1, disturbed=True),
            )
        if world.expiries:
            passed = world._replace(periods=world.periods + 1, expiries=world.expiries - 1, disturbed=True)
            yield Step("the retention of markers passes", passed)
            if world.marker:
                yield Step("the marker expires", passed._replace(marker=0))
        if world.losses and world.log:
            log = world.log[:-1]
            lost = world._replace(log=log, marker=min(world.marker, len(log)), losses=world.losses - 1, disturbed=True)
            fenced = tuple(sorted(one._replace(holds=False) for one in world.drivers))  # open transactions go, too
            yield Step("the destination loses its newest batch", lost._replace(drivers=fenced))

    def ended(self, world: World) -> bool:
        return all(
            number in world.refused or checkpoint.ended == self._bounds.batches
            for number, checkpoint in enumerate(world.checkpoints)
        )

    def broken(self, world: World) -> str:
        return ""  # each step says what it breaks

    def mirrored(self, world: World) -> World:
        return world

    # --- Spark

    def _starts(self, world: World, number: int, checkpoint: Checkpoint) -> Iterator[Step[World]]:
        """A run begins at the first batch that has not ended; one that was there before goes on as a zombie."""
        runs = [driver for driver in world.drivers if driver.checkpoint == number and not driver.zombie]
        if number in world.refused or checkpoint.ended == self._bounds.batches or (runs and not world.kills):
            return
        kills = world.kills - bool(runs)
        planned = len(checkpoint.plans) > checkpoint.ended
        plan = checkpoint.plans[-1] if planned else Plan(checkpoint.ended, number, world.periods)
        plans = checkpoint.plans if planned else (*checkpoint.plans, plan)
        begun = checkpoint._replace(plans=plans)
        driver = Driver(number, plan, ended_before=checkpoint.ended)
        others = [one._replace(zombie=True) if one in runs else one for one in world.drivers]
        after = world._replace(drivers=tuple(sorted((*others, driver))), kills=kills)
        yield Step(f"starts: {driver}", _with(after, number, begun))

    def _driver(self, world: World, driver: Driver) -> Iterator[Step[World]]:
        checkpoint = world.checkpoints[driver.checkpoint]
        if driver.at == "started":
            rest = _without(world.drivers, driver)
            fenced = [one._replace(holds=False) for one in rest]
            drivers = tuple(sorted([*fenced, driver._replace(at="fenced", holds=True)]))
            yield Step(f"fences: {driver}", world._replace(drivers=drivers))
        elif driver.at == "fenced":
            yield self._decides(world, driver, checkpoint)
        elif driver.at == "writes":
            yield from self._commits(world, driver)
        else:
            ended = checkpoint._replace(ended=max(checkpoint.ended, driver.plan.batch + 1))
            yield Step(f"notes the end: {driver}", _with(_moved(world, driver, None), driver.checkpoint, ended))

    def _decides(self, world: World, driver: Driver, checkpoint: Checkpoint) -> Step[World]:
        plan = self._plan(driver, checkpoint)
        marker = None
        if world.marker:
            marked = world.log[world.marker - 1]
            marker = Marker(QUERY, marked.batch, 1, marked.planned.fingerprint, marked.planned.planned_at_ms)
        decision = decide(plan, marker, world.periods * RETENTION_MS * 2)
        label = f"decides {type(decision).__name__.lower()}: {driver}"
        if isinstance(decision, Refuse):
            after = _moved(world, driver, None)
            if driver.zombie:
                return Step(label, after)
            after = after._replace(refused=world.refused | {driver.checkpoint})
            return Step(label, after, "" if world.disturbed or not driver.holds else REFUSED)
        if isinstance(decision, Skip):
            there = driver.plan in world.log
            return Step(label, _moved(world, driver, driver._replace(at="written")), "" if there else NOT_THERE)
        since = plan.last_write(skipped=False).since_batch_id
        remembered = _with(world, driver.checkpoint, checkpoint._replace(since=since))
        return Step(label, _moved(remembered, driver, driver._replace(at="writes")))

    def _plan(self, driver: Driver, checkpoint: Checkpoint) -> BatchPlan:
        batch = driver.plan.batch
        previous = None
        if batch:
            previous = PreviousBatch(checkpoint.plans[batch - 1].planned, driver.ended_before >= batch)
        return BatchPlan(
            GROUP, QUERY, "checkpoint", driver.plan.planned, previous, checkpoint.memory(), CLUSTER, RETENTION_MS,
            OnMissingMarker.FAIL,
        )  # fmt: skip

    def _commits(self, world: World, driver: Driver) -> Iterator[Step[World]]:
        if not driver.holds:
            yield Step(f"is fenced: {driver}", _moved(world, driver, None))
            return
        log = (*world.log, driver.plan)
        written = world._replace(log=log, marker=len(log))
        broken = self._breach(world, driver)
        yield Step(f"commits: {driver}", _moved(written, driver, driver._replace(at="written")), broken)
        if world.kills:
            gone = _moved(written, driver, None)._replace(kills=world.kills - 1)
            yield Step(f"commits and is killed: {driver}", gone, broken)

    @staticmethod
    def _breach(world: World, driver: Driver) -> str:
        if any(plan.batch == driver.plan.batch for plan in world.log):
            return TWICE
        if driver.plan.batch != len(world.log):
            return LEFT_OUT
        parents = world.checkpoints[driver.checkpoint].plans[: driver.plan.batch]
        return "" if parents == world.log else ANOTHER


def _with(world: World, number: int, checkpoint: Checkpoint) -> World:
    before = world.checkpoints
    return world._replace(checkpoints=(*before[:number], checkpoint, *before[number + 1 :]))


def _without(drivers: tuple[Driver, ...], driver: Driver) -> list[Driver]:
    at = drivers.index(driver)
    return [*drivers[:at], *drivers[at + 1 :]]


def _moved(world: World, driver: Driver, moved: Driver | None) -> World:
    rest = _without(world.drivers, driver)
    return world._replace(drivers=tuple(sorted([*rest, moved] if moved is not None else rest)))
