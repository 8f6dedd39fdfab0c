"""A producer's requests to its coordinators: one in flight at a time, the most urgent first.

Called by the transaction manager, which decides what an answer means. This module keeps the queue, finds the
coordinators of the transactional id and of the groups, and repeats with backoff. Source: Kafka's
``TransactionManager.TxnRequestHandler``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.connection.coordinator_lookup import CoordinatorFinder, CoordinatorType
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.wire import Answer, Api, Build, RequestFailure, Wire
from oncelog.client.core.transactions.offset_topics import OffsetTopics
from oncelog.client.core.transactions.transaction_requests import Request, RequestOutcome
from oncelog.client.core.waiting import retried
from oncelog.errors import Error, KafkaError
from oncelog.runtime.deferred import Deferred

Result = Deferred[KafkaError | None]

FIRST_ADD_BACKOFF_MS = 20
"""Retry backoff in ms of a transaction's first request, which waits for the previous transaction to complete."""

PRIORITY = {
    Step.INIT_PRODUCER_ID: 1,
    Step.ADD_PARTITIONS: 2,
    Step.ADD_OFFSETS: 2,
    Step.TXN_OFFSET_COMMIT: 2,
    Step.END_TXN: 3,
}
AFTER_END = 4


@dataclass(order=True)
class CoordinatorRequest:
    """A request to a coordinator that waits or is under way. Requests are ordered by priority, then age."""

    priority: int
    number: int
    step: Step = field(compare=False)
    api: Api = field(compare=False)
    build: Build = field(compare=False)
    read: Callable[[Answer, int], RequestOutcome] = field(compare=False)
    done: Callable[[RequestOutcome, int], None] = field(compare=False)
    result: Result = field(compare=False)
    group: str | None = field(compare=False, default=None)
    topics: OffsetTopics | None = field(compare=False, default=None)
    attempts: int = field(compare=False, default=0)

    def fail(self, error: KafkaError) -> None:
        """Report the failure to the caller, unless a result was reported before."""
        if not self.result.done:
            self.result.resolve(error)


class CoordinatorRequests:
    """The queue of requests to coordinators, of which at most one is in flight.

    :param on_answer: called with the request, the action from the error table, the outcome, and now_ms.
    :param on_ready: called when a request that had to wait may be sent.
    :param on_refused: called when the lookup of a coordinator is refused for good.
    """

    def __init__(
        self,
        wire: Wire,
        transactional_id: str | None,
        *,
        retry_backoff_ms: int,
        retry_backoff_max_ms: int,
        on_answer: Callable[[CoordinatorRequest, ErrorAction, RequestOutcome, int], None],
        on_ready: Callable[[int], None],
        on_refused: Callable[[CoordinatorType, KafkaError], None],
    ) -> None:
        self._wire = wire
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_backoff_max_ms = retry_backoff_max_ms
        self._on_answer = on_answer
        self._on_ready = on_ready
        self._on_refused = on_refused
        self._queue: list[CoordinatorRequest] = []
        self._numbers = 0
        self._busy = False
        self._waiting = False
        self._own: CoordinatorFinder | None = None
        if transactional_id is not None:
            self._own = self._finder(transactional_id, CoordinatorType.TRANSACTION)
        self._groups: dict[str, CoordinatorFinder] = {}

    def add(
        self,
        step: Step,
        request: Request,
        done: Callable[[RequestOutcome, int], None],
        result: Result,
        *,
        group: str | None = None,
        topics: OffsetTopics | None = None,
        priority: int | None = None,
    ) -> CoordinatorRequest:
        """Queue a request. ``done`` is called if it succeeds, ``result`` is resolved if it fails."""
        self._numbers += 1
        rank = PRIORITY[step] if priority is None else priority
        queued = CoordinatorRequest(rank, self._numbers, step, *request, done, result, group, topics)
        heapq.heappush(self._queue, queued)
        return queued

    def next(self) -> CoordinatorRequest | None:
        """The request that may be sent now; it stays queued until it is taken or sent."""
        return None if self._busy or self._waiting or not self._queue else self._queue[0]

    @property
    def idle(self) -> bool:
        """Whether no request is queued or under way."""
        return not self._busy and not self._queue

    def take(self) -> CoordinatorRequest:
        """Remove the next request without sending it."""
        return heapq.heappop(self._queue)

    def send(self, request: CoordinatorRequest, highest: int) -> None:
        """Send the next request, or find its coordinator first."""
        finder = self._finder_for(request)
        node = self._wire.any_node() if finder is None else finder.node
        if node is None:
            if finder is not None:
                finder.look_up()
            return
        heapq.heappop(self._queue)
        self._busy = True
        request.attempts += 1

        def answered(answer: Answer, version: int, now_ms: int) -> None:
            self._answered(request, answer, version, now_ms)

        self._wire.send(node, request.api, request.build, answered, highest=highest, channel=1 if finder else 0)

    def repeat(self, request: CoordinatorRequest, error: Error, now_ms: int) -> None:
        """Queue a request again; nothing is sent before its backoff is over."""
        retried(error, f"{request.api.name} was refused")
        heapq.heappush(self._queue, request)
        self._waiting = True
        wait = backoff_ms(request.attempts, self._retry_backoff_ms, self._retry_backoff_max_ms)
        if error is Error.CONCURRENT_TRANSACTIONS:
            wait = min(wait, FIRST_ADD_BACKOFF_MS)
        self._wire.timers.schedule(now_ms + wait, self._again)

    def forget_coordinator(self, request: CoordinatorRequest) -> None:
        """Forget the node that was taken for the coordinator of the request's key."""
        finder = self._finder_for(request)
        if finder is not None:
            finder.forget()

    def fail_all(self, error: KafkaError) -> None:
        """Fail all queued requests, in order."""
        queue, self._queue = self._queue, []
        for request in sorted(queue):
            request.fail(error)

    def _answered(self, request: CoordinatorRequest, answer: Answer, version: int, now_ms: int) -> None:
        self._busy = False
        if isinstance(answer, RequestFailure):
            outcome = RequestOutcome(answer.error, f": {answer.text}" if answer.text else "", None)
        else:
            outcome = request.read(answer, version)
        action = action_for(request.step, outcome.error)
        if isinstance(answer, RequestFailure) and answer.error.retriable:
            action = ErrorAction.FIND_COORDINATOR
        self._on_answer(request, action, outcome, now_ms)

    def _again(self, now_ms: int) -> None:
        self._waiting = False
        self._on_ready(now_ms)

    def _finder(self, key: str, kind: CoordinatorType) -> CoordinatorFinder:
        return CoordinatorFinder(
            self._wire,
            key,
            kind,
            retry_backoff_ms=self._retry_backoff_ms,
            retry_backoff_max_ms=self._retry_backoff_max_ms,
            on_found=self._on_ready,
            on_error=lambda error, now_ms: self._on_refused(kind, error),
        )

    def _finder_for(self, request: CoordinatorRequest) -> CoordinatorFinder | None:
        if request.group is None:
            return self._own
        finder = self._groups.get(request.group)
        if finder is None:
            finder = self._groups[request.group] = self._finder(request.group, CoordinatorType.GROUP)
        return finder
