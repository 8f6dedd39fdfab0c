"""One registry: follows the topic, and writes to it if it is the cluster's current writer. Called by the routes.

Invariants
- Only records read from the topic change the state, and a change is answered once its records have been read back.
- One registry writes. It fenced every other one before it read the topic to its end, so its decisions include
  everything that was ever answered. A fenced registry decides again: it learns of the fencing when it writes, or when
  it checks the topic's end before it refuses.
- After a takeover, the keys that aborted records would have changed are rewritten with their current values: a reader
  of uncommitted records, such as Confluent's registry, then has the same state. The ids of aborted records are not
  reused.
- Other registries forward changes to the one that announced itself last, and take over if it does not answer.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TypeVar

from oncelog.client.aio.admin.admin import Admin
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.schema_registry import rest_errors
from oncelog.schema_registry.compatibility import Checks
from oncelog.schema_registry.formats.parsing import Parser
from oncelog.schema_registry.log import WAIT_MS, SchemasLog, TopicRefused
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.rules import SchemaDecision
from oncelog.schema_registry.schema_records import NOOP, DamagedRecord, Key, Write, announcement
from oncelog.schema_registry.settings import RegistrySettings
from oncelog.schema_registry.state import RegistryState

log = logging.getLogger(__name__)

CONFLUENTS_GROUP = "schema-registry"
"""The group in which Confluent's registries elect the writer; also the default name of their cluster."""
READ_BACK_SECONDS = 30.0
START_SECONDS = 60.0
_RETRY_SECONDS = 0.5
_THREADS = 4
_ATTEMPTS = 3
"""The maximum number of attempts at a change while other registries write."""
_FENCED = (
    Error.PRODUCER_FENCED,
    Error.INVALID_PRODUCER_EPOCH,
    Error.INVALID_PRODUCER_ID_MAPPING,
    Error.INVALID_TXN_STATE,
)
_GONE = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.OFFSET_OUT_OF_RANGE)

T = TypeVar("T")
Rule = Callable[[RegistryState, Checks], SchemaDecision]


class NotWriter(Exception):
    """Another registry is the writer, so the request must be forwarded to its address."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class Registry:
    """The registry of one topic.

    :param url: this registry's address.
    :param answers: checks whether a registry answers at an address.
    """

    def __init__(self, settings: RegistrySettings, url: str, answers: Callable[[str], Awaitable[bool]]) -> None:
        self._settings = settings
        self.url = url
        self.state = RegistryState()
        self.checks = Checks(Parser())
        self._answers = answers
        self._threads = ThreadPoolExecutor(_THREADS, "oncelog-schemas")
        self._admin: Admin | None = None
        self._log: SchemasLog | None = None
        self._position = 0
        self._read = asyncio.Condition()
        self._changing = asyncio.Lock()
        self._writes = False
        self._changes = 0
        """The number of reads that returned new records."""
        self._aborted: dict[Key, None] = {}
        """Keys whose latest record belongs to an aborted transaction."""
        self._following: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._settled = asyncio.Event()
        """Set once the registry is ready, or cannot become ready until the topic is corrected."""
        self._problem = "it is still reading its topic"

    async def start(self) -> None:
        """Begin to follow the topic; :meth:`ready` says when it has caught up."""
        self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Stop the registry. A change in progress may or may not be stored."""
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        await self._disconnect()
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def is_writing(self) -> bool:
        """Whether this registry was the writer when it last checked."""
        return self._writes

    # --- following

    async def _follow(self) -> None:
        while True:
            try:
                await self._catch_up()
                while True:
                    await self._read_on(WAIT_MS)
            except OncelogError as error:
                if isinstance(error, KafkaError) and error.error in _GONE:
                    await self._start_over()
                self._note_problem(str(error))
                if isinstance(error, TopicRefused):
                    self._settled.set()
                await asyncio.sleep(_RETRY_SECONDS)

    def _note_problem(self, text: str) -> None:
        if text != self._problem:
            log.warning("the schema registry cannot read its topic: %s", text)
        self._problem = text

    async def _catch_up(self) -> None:
        log_ = await self._connected()
        await log_.create()
        end = await log_.end()
        while self._position < end:
            if not await self._read_on(0):
                break
        self._problem = ""
        self._ready.set()
        self._settled.set()

    async def _connected(self) -> SchemasLog:
        if self._log is None:
            admin = Admin(config=self._settings.admin_config())
            await admin.start()
            self._admin = admin
            self._log = SchemasLog(admin, self._settings.topic, self._settings.transactional_id)
        return self._log

    async def _disconnect(self) -> None:
        if self._admin is not None:
            await self._admin.close()
        self._admin = self._log = None

    async def _start_over(self) -> None:
        """Forget everything that was read, because the topic was deleted."""
        async with self._read:
            self.state, self._position, self._writes = RegistryState(), 0, False
            self._aborted.clear()
            self._ready.clear()
            self._settled.clear()
            self._read.notify_all()

    async def _read_on(self, wait_ms: int) -> bool:
        """Read and apply the next records; returns whether the position has advanced."""
        log_ = await self._connected()
        found = await log_.read(self._position, wait_ms=wait_ms)
        moved = found.position > self._position
        async with self._read:
            for key, value, aborted in found.entries:
                if aborted:
                    self.state.note(key, value)
                    self._aborted[key] = None
                    continue
                self._aborted.pop(key, None)
                try:
                    self.state.apply(key, value)
                except DamagedRecord as error:
                    log.error("skipped: %s", error)
            self._position = found.position
            self._changes += bool(found.entries)
            if self.state.writer != self.url:
                self._writes = False
            self._read.notify_all()
        return moved

    async def _until_read(self, offset: int) -> None:
        def is_read() -> bool:
            return self._position >= offset

        async with self._read:
            await asyncio.wait_for(self._read.wait_for(is_read), READ_BACK_SECONDS)

    # --- asking

    async def ready(self) -> None:
        """Wait until the topic has been read to the end that it had when this registry began to follow it.

        :raises Refused: the topic cannot be read, or not in time.
        """
        if self._ready.is_set():
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), START_SECONDS)
        if not self._ready.is_set():
            raise rest_errors.store_failed(self._problem)

    async def ask(self, question: Callable[[], T]) -> T:
        """Compute the answer to a query in another thread, because it may take long."""
        await self.ready()
        return await asyncio.get_running_loop().run_in_executor(self._threads, question)

    async def scope(self) -> dict[str, object]:
        """The answer about this registry's identity and cluster, in Confluent's form."""
        await self.ready()
        await self._connected()
        cluster = "" if self._admin is None else (await self._admin.describe_cluster()).cluster_id
        named = {"kafka-cluster": cluster or "", "schema-registry-cluster": CONFLUENTS_GROUP}
        return {"scope": {"path": [], "clusters": named}, "id": ""}

    # --- changing

    async def change(self, rule: Rule) -> object:
        """Carry out a rule's decision on the newest state, and answer once its records are stored and read back.

        :raises Refused: by the rule, or because the decision could not be stored.
        :raises NotWriter: another registry writes.
        """
        try:
            if self._writes:  # slow checks run before the lock is taken, and are cached
                await self._decide(rule)
            await self.ready()
            async with self._changing:
                for _ in range(_ATTEMPTS):
                    await self._become_writer()
                    decision = await self._decide(rule)
                    if decision is not None and (not decision.writes or await self._write(decision.writes)):
                        return decision.answer
        except TimeoutError:
            self._writes = False
            raise rest_errors.store_timed_out("what was written could not be read back in time") from None
        except KafkaError as error:
            self._writes = False
            raise _store_error(error) from error
        raise rest_errors.unknown_leader("another registry took over; send the request again")

    async def _decide(self, rule: Rule) -> SchemaDecision | None:
        """A rule's decision; None if it was made on an outdated state.

        The transaction of a write proves that no other registry has written meanwhile. A refusal or an answer without a
        write proves nothing, so the topic's end is checked.

        :raises Refused: the rule refused on the newest state.
        """
        changes = self._changes
        refused = decision = None
        try:
            decision = await self.ask(partial(rule, self.state, self.checks))
        except Refused as error:
            refused = error
        if decision is not None and decision.writes:
            return decision
        log_ = await self._connected()
        await self._until_read(await log_.end())
        if self._changes != changes or not self._writes:
            return None
        if refused is not None:
            raise refused
        return decision

    async def take_over(self, url: str) -> None:
        """Take over from the writer at ``url``, which could not be reached, unless another registry has done so
        meanwhile.
        """
        async with self._changing:
            if self.state.writer == url and not self._writes:
                try:
                    await self._take_over()
                except TimeoutError:
                    raise rest_errors.store_timed_out("the topic could not be read to its end in time") from None
                except KafkaError as error:
                    raise _store_error(error) from error

    async def _become_writer(self) -> None:
        if self._writes:
            return
        writer = self.state.writer
        if writer is not None and writer != self.url and await self._answers(writer):
            raise NotWriter(writer)
        await self._take_over()

    async def _take_over(self) -> None:
        log_ = await self._connected()
        await self._refuse_beside_confluents()
        await log_.create()
        await log_.fence()
        await self._until_read(await log_.end())
        writes: list[Write] = [(key, self.state.value_of(key)) for key in self._aborted if key.kind != NOOP]
        writes.append(announcement(self.url, self.state.highest_id))
        await self._until_read(await log_.write(writes))
        self._writes = True

    async def _refuse_beside_confluents(self) -> None:
        if self._admin is None:
            return
        try:
            (group,) = await self._admin.describe_consumer_groups([CONFLUENTS_GROUP])
        except KafkaError as error:
            log.info("whether Confluent's registry runs on this cluster is not known: %s", error)
            return
        if group.members:
            raise rest_errors.unknown_leader(
                f"Confluent's registry writes to this cluster (the group {CONFLUENTS_GROUP} has members); two "
                "kinds of registries cannot write to one topic: stop one of them"
            )

    async def _write(self, writes: list[Write]) -> bool:
        """Store records and read them back; returns False if another registry has taken over and nothing was stored."""
        log_ = await self._connected()
        try:
            offset = await log_.write(writes)
        except KafkaError as error:
            self._writes = False
            if error.error not in _FENCED:
                raise
            return False
        await self._until_read(offset)
        return True


def _store_error(error: KafkaError) -> Refused:
    if error.error in (Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE):
        return rest_errors.too_large(str(error))
    if error.error in (Error.TOPIC_AUTHORIZATION_FAILED, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED):
        return Refused(403, 40301, f"the registry may not write: {error}")
    return rest_errors.store_failed(str(error))


__all__ = ["NotWriter", "Registry"]
