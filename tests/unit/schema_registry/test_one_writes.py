"""Several registries on one topic, in memory: who is behind, fenced or new answers by everything that was stored.

The simulation finds these orders of events too seldom. Each is shown to matter by a planted bug that it finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import pytest

from oncelog.errors import Error, KafkaError
from oncelog.schema_registry import rules
from oncelog.schema_registry.log import SchemasRead, SchemasRecord
from oncelog.schema_registry.requests import Submitted
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.schema_records import NOOP, SCHEMA, Key, Write
from oncelog.schema_registry.service import NotWriter, Registry
from oncelog.schema_registry.settings import RegistrySettings
from tests.simulation.planting import Mutant, planted

SOON_S, TIMEOUT_S = 0.05, 5.0


class Topic:
    """Records in order, and the epoch of the producer that may write."""

    def __init__(self) -> None:
        self.entries: list[SchemasRecord] = []
        self.epoch = 0

    def compacted(self) -> Topic:
        """What compaction leaves in the end: the last committed record of each key, if it has a value."""
        last = {one.key: one for one in self.entries if not one.aborted}
        topic = Topic()
        topic.entries = [one for one in last.values() if one.value is not None]
        topic.epoch = self.epoch
        return topic


class Log:
    """A registry's view of a topic, as ``SchemasLog``; while it is held, nothing is read."""

    def __init__(self, topic: Topic) -> None:
        self._topic, self._epoch = topic, -1
        self.flows = asyncio.Event()
        self.flows.set()

    async def create(self) -> None:
        """It is there."""

    async def end(self) -> int:
        return len(self._topic.entries)

    async def read(self, position: int, *, wait_ms: int = 0) -> SchemasRead:
        await asyncio.sleep(0.001 if wait_ms else 0)
        await self.flows.wait()
        return SchemasRead(self._topic.entries[position:], len(self._topic.entries))

    async def fence(self) -> None:
        self._topic.epoch += 1
        self._epoch = self._topic.epoch

    async def write(self, writes: Sequence[Write]) -> int:
        if self._epoch != self._topic.epoch:
            raise KafkaError(Error.INVALID_PRODUCER_EPOCH, "fenced")
        self._topic.entries += [SchemasRecord(key, value, False) for key, value in writes]
        return len(self._topic.entries)


class One:
    """A registry on a topic; ``alive`` says of the others whether they answer."""

    def __init__(self, topic: Topic, name: str, *, alive: bool) -> None:
        async def answers(url: str) -> bool:
            return alive

        self.log = Log(topic)
        self.registry = Registry(RegistrySettings({"bootstrap.servers": "127.0.0.1:1"}), f"http://{name}", answers)
        self.registry._log = self.log  # type: ignore[assignment]

    async def __aenter__(self) -> One:
        await self.registry.start()
        await self.registry.ready()
        return self

    async def __aexit__(self, *ended: object) -> None:
        self.log.flows.set()
        await self.registry.close()

    async def change(self, rule: Callable[..., Any]) -> Any:
        return await asyncio.wait_for(self.registry.change(rule), TIMEOUT_S)

    async def register(self, subject: str, name: str) -> Any:
        return await self.change(registering(subject, name))

    async def delete(self, subject: str, *, permanent: bool = False) -> Any:
        return await self.change(deleting(self, subject, permanent=permanent))


def registering(subject: str, name: str) -> Callable[..., Any]:
    text = f'{{"type":"record","name":"{name}","fields":[]}}'
    return lambda state, checks: rules.register(state, checks, subject, Submitted(text))


def deleting(by: One, subject: str, *, permanent: bool = False) -> Callable[..., Any]:
    return lambda state, _: rules.delete_subject(state, subject, permanent=permanent, url=by.registry.url)


async def fenced_one_is_asked(question: str) -> None:
    """Another one took over, while this one was stopped: it may not answer by what it knew."""
    topic = Topic()
    async with One(topic, "a", alive=True) as old, One(topic, "b", alive=False) as new:
        await old.register("x", "A")
        old.log.flows.clear()
        await new.register("y", "B")
        await new.delete("x")
        await new.delete("x", permanent=True)
        asked = {"a refusal": deleting(old, "y"), "an answer without a write": registering("x", "A")}[question]
        answer = asyncio.ensure_future(old.change(asked))
        await asyncio.sleep(SOON_S)
        if answer.done():
            pytest.fail(f"it answers by what it knew: {answer.exception() or answer.result()}")
        old.log.flows.set()
        with pytest.raises(NotWriter, match="http://b"):
            await answer


async def one_takes_over_that_is_behind() -> None:
    """It reads to the end first: it keeps the highest id, and writes again what an aborted record would change."""
    topic = Topic()
    async with One(topic, "a", alive=False) as old, One(topic, "b", alive=False) as new:
        await asyncio.sleep(SOON_S)
        new.log.flows.clear()
        await old.register("x", "A")
        aborted = Key(SCHEMA, "x", 2)
        topic.entries.append(SchemasRecord(aborted, {"subject": "x", "version": 2, "id": 9, "schema": '"int"'}, True))
        before = len(topic.entries)
        answer = asyncio.ensure_future(new.register("y", "B"))
        await asyncio.sleep(SOON_S)
        new.log.flows.set()
        await answer
        again, (key, value, _) = topic.entries[before], topic.entries[before + 1]
        assert again == SchemasRecord(aborted, None, False), "a reader of aborted records has version 2 of x"
        assert (key, value) == (Key(NOOP), {"oncelog": {"url": "http://b", "highestId": 9}})
        assert answer.result()["id"] == 10


async def one_that_does_not_write_is_asked() -> None:
    """It says who writes, instead of taking over from one that lives."""
    topic = Topic()
    async with One(topic, "a", alive=True) as writer, One(topic, "b", alive=True) as other:
        await writer.register("x", "A")
        await asyncio.sleep(SOON_S)
        with pytest.raises(NotWriter, match="http://a"):
            await other.register("y", "B")
        assert (await writer.register("y", "B"))["id"] == 2
        assert topic.epoch == 1, "nobody was fenced"


async def topic_is_compacted_after_a_deletion_for_good() -> None:
    """No id of before is given again."""
    topic = Topic()
    async with One(topic, "a", alive=False) as old:
        await old.register("x", "A")
        await old.register("y", "B")
        await old.delete("y")
        await old.delete("y", permanent=True)
    async with One(topic.compacted(), "b", alive=False) as new:
        assert (await new.register("z", "C"))["id"] == 3


Scene = Callable[[], Awaitable[None]]
SCENES: dict[str, Scene] = {
    "a fenced one refuses": partial(fenced_one_is_asked, "a refusal"),
    "a fenced one answers": partial(fenced_one_is_asked, "an answer without a write"),
    "one behind takes over": one_takes_over_that_is_behind,
    "another one is asked": one_that_does_not_write_is_asked,
    "a compacted topic": topic_is_compacted_after_a_deletion_for_good,
}
_END = "await self._until_read(await log_.end())"
_ANNOUNCED = "writes.append(announcement(self.url, self.state.highest_id))"
BUGS: list[tuple[str, str, str, str, str]] = [
    ("a fenced one refuses", "service:Registry._decide", _END, "pass", "answers by what it knew, when it refuses"),
    ("a fenced one answers", "service:Registry._decide", _END, "pass", "answers by what it knew"),
    ("one behind takes over", "service:Registry._take_over", _END, "pass", "takes over without reading to the end"),
    ("another one is asked", "service:Registry._take_over", _ANNOUNCED, "pass", "does not announce itself"),
    ("another one is asked", "state:RegistryState._apply", "url or self.writer", "self.writer", "forgets who writes"),
    (
        "a compacted topic",
        "state:RegistryState._apply",
        "max(self.highest_id, highest)",
        "self.highest_id",
        "forgets the id",
    ),
]


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_answers_of_several_registries_agree_with_all_stored_records(scene: Scene) -> None:
    asyncio.run(scene())  # type: ignore[arg-type]


@pytest.mark.parametrize(("scene", "where", "old", "new", "bug"), BUGS, ids=[bug for *_, bug in BUGS])
def test_a_bug_planted_in_the_registry_is_found(scene: str, where: str, old: str, new: str, bug: str) -> None:
    mutant = Mutant(bug, f"schema_registry.{where}", old, new, scenes=(), one_in=1)
    with planted(mutant) as slips, pytest.raises((AssertionError, Refused, pytest.fail.Exception)):
        asyncio.run(SCENES[scene]())  # type: ignore[arg-type]
    assert slips == []
