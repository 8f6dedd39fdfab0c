"""One broker under random requests: its own names for what the requests name, and its answers in common ones."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from oncelog.apps.conformance.raw.batches import RawBatch, parse_batches
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.struct_fields import Struct
from oncelog.protocol.wire import Message
from oncelog.types import encode_uuid
from tests.compatibility.interop.admin.admin_wire import ANY_ORDER, OF_THE_BROKER, Connection

TIMEOUT_S = 60
CLOSED, WAITS = "the connection is closed", "no answer yet"
UNSORTED = (ANY_ORDER | {"groups", "transaction_states", "members", "results_by_transaction", "active_producers"}) - {
    "entries"
} | {"partition_responses", "results_by_partition", "results_by_topic_v3_and_below", "markers"}
TIMES = {"log_append_time_ms", "transaction_start_time_ms", "last_timestamp", "last_fetch_timestamp"}
UNNAMED_PRODUCER = 2**40
MIN_NAMED = 100
"""Smaller producer ids are not looked for in texts."""


class Side:
    """:ivar now_ms: the same time for the records of both brokers.

    :ivar topic_ids: the last id of each name, also of deleted topics.
    """

    def __init__(self, bootstrap_servers: str, now_ms: int) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.now_ms = now_ms
        self.topic_ids: dict[str, bytes] = {}
        self.members: list[str] = []
        self.producers: list[int] = []
        self._connection = Connection(bootstrap_servers)

    # --- names

    def producer(self, which: int) -> int:
        if which < 0:
            return which
        return self.producers[which] if which < len(self.producers) else UNNAMED_PRODUCER + which

    def member(self, which: int) -> str:
        if which < 0:
            return "" if which == -1 else "made-up"
        return self.members[which] if which < len(self.members) else f"member-{which}"

    def learn(self, answer: Any) -> None:
        """The member or producer that an answer names first."""
        member, producer = getattr(answer, "member_id", None), getattr(answer, "producer_id", -1)
        if member and member not in self.members:
            self.members.append(member)
        if producer != -1 and producer not in self.producers:
            self.producers.append(producer)

    def learn_topics(self) -> None:
        answer = self._ask(MetadataRequest(None), 12)
        self.topic_ids.update({topic.name: topic.topic_id for topic in answer.topics})

    # --- requests

    def call(self, request: Message, version: int, timeout_s: float = 3) -> Any:
        """The answer, or ``CLOSED`` or ``WAITS``."""
        try:
            return self._ask(request, version, timeout_s)
        except (EOFError, ConnectionError):
            self._reconnect()
            return CLOSED
        except TimeoutError:
            self._reconnect()
            return WAITS

    def _ask(self, request: Message, version: int, timeout_s: float = TIMEOUT_S) -> Any:
        self._connection.set_timeout(timeout_s)
        return self._connection.call(request, version)

    def _reconnect(self) -> None:
        self._connection.close()
        self._connection = Connection(self.bootstrap_servers)

    def close(self) -> None:
        self._connection.close()

    def prepare(self, topics: Mapping[str, Mapping[str, str]]) -> None:
        """Topics of two partitions with their settings, the coordinators, and the first producer id."""
        made = [
            CreatableTopic(name, 2, 1, [], [CreatableTopicConfig(*each) for each in settings.items()])
            for name, settings in topics.items()
        ]
        self._ask(CreateTopicsRequest(made, 30_000, False), 7)
        for kind, key in enumerate(("g0", "x0", f"g0:{encode_uuid(bytes([1] * 16))}:0")):
            request = FindCoordinatorRequest("", kind, [key])
            until(lambda request=request: self._ask(request, 6).coordinators[0].error_code == 0)  # type: ignore[misc]
        until(lambda: self._ask(InitProducerIdRequest("first", 60_000), 4).error_code == 0)

    def topics_now(self) -> list[tuple[str, int, list[int]]]:
        """Names, partition counts and leaders."""
        answer = self._ask(MetadataRequest(None), 12)
        return sorted((t.name, len(t.partitions), [p.leader_id for p in t.partitions]) for t in answer.topics)

    def transactions_rest(self) -> bool:
        """Whether no marker is in flight."""
        answer = self._ask(ListTransactionsRequest(), 0)
        return not any("Prepare" in state.transaction_state for state in answer.transaction_states)

    # --- answers

    def comparable(self, answer: Any, name: str = "") -> Any:
        """An answer as plain values, with names that both brokers share."""
        if isinstance(answer, Struct):
            return {slot: self.comparable(getattr(answer, slot), slot) for slot in answer.__slots__}
        if isinstance(answer, list):
            items = [self.comparable(item) for item in answer]
            return sorted(items, key=repr) if name in UNSORTED else items
        if name in OF_THE_BROKER or name == "session_id":
            return None if answer in (None, "", -1, 0) else name
        if name in TIMES:
            return answer if answer < 0 else "a time"
        if name == "records":
            return [self._batch(batch) for batch in parse_batches(bytes(answer or b""))]
        if "producer_id" in name:
            return self._producer(answer)
        if isinstance(answer, str):
            return self._text(answer)
        if isinstance(answer, bytes) and len(answer) == len(bytes(16)):
            return next((known for known, found in self.topic_ids.items() if found == answer), answer.hex())
        return answer

    def _producer(self, producer_id: int) -> str | int:
        return f"producer {self.producers.index(producer_id)}" if producer_id in self.producers else producer_id

    def _batch(self, batch: RawBatch) -> Any:
        pid = self._producer(batch.pid)
        return batch.base_offset, batch.last_offset_delta, batch.attributes, pid, batch.epoch, batch.sequence

    def _text(self, text: str) -> str:
        for index, member in enumerate(self.members):
            text = text.replace(member, f"member {index}")
        for index, producer in enumerate(self.producers):
            if producer >= MIN_NAMED:
                text = re.sub(rf"\b{producer}\b", f"producer {index}", text)
        return text.replace(self.bootstrap_servers, "here")


def until(so: Callable[[], bool], what: Callable[[], str] = str) -> None:
    """Wait for a condition; it may take long, but not forever. ``what`` is seen if it does."""
    deadline = time.monotonic() + TIMEOUT_S
    while not so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {TIMEOUT_S} s: {what()}")
        time.sleep(0.02)
