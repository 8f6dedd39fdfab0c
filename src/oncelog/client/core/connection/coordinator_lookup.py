"""Finds the broker that coordinates a group or a transactional id.

Called by the transaction manager, the group member and the admin client.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from oncelog.client.core.backoff import backoff_ms
from oncelog.client.core.client_errors import error_for, error_of
from oncelog.client.core.connection.error_rules import ErrorAction, Step, action_for
from oncelog.client.core.connection.wire import FIND_COORDINATOR, Answer, RequestFailure, Wire
from oncelog.client.core.waiting import retried
from oncelog.errors import Error, KafkaError
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.find_coordinator_response import FindCoordinatorResponse
from oncelog.runtime.deferred import Deferred


class CoordinatorType(IntEnum):
    """The kind of key whose coordinator is looked up."""

    GROUP = 0
    TRANSACTION = 1


class CoordinatorFinder:
    """Finds the coordinator of one key, and caches it.

    :param on_found: called when the coordinator is known (again).
    :param on_error: called when the lookup was refused for good.
    """

    def __init__(
        self,
        wire: Wire,
        key: str,
        key_type: CoordinatorType,
        *,
        retry_backoff_ms: int,
        retry_backoff_max_ms: int,
        on_found: Callable[[int], None],
        on_error: Callable[[KafkaError, int], None],
    ) -> None:
        self._wire = wire
        self._key = key
        self._key_type = key_type
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_backoff_max_ms = retry_backoff_max_ms
        self._on_found = on_found
        self._on_error = on_error
        self._busy = False
        self._failures = 0
        self.node: int | None = None
        self._waiters: list[Deferred[KafkaError | None]] = []

    def found(self) -> Deferred[KafkaError | None]:
        """Resolves when the coordinator is known, or with the error that ended the lookup; starts a lookup if
        necessary."""
        waiter: Deferred[KafkaError | None] = Deferred()
        if self.node is not None:
            waiter.resolve(None)
        else:
            self._waiters.append(waiter)
            self.look_up()
        return waiter

    def _settle(self, error: KafkaError | None) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.resolve(error)

    def forget(self) -> None:
        """Drop the cached node, because it is not the coordinator or cannot be reached."""
        self.node = None

    def look_up(self) -> None:
        """Start a lookup unless one is in progress."""
        if self._busy or self.node is not None:
            return
        self._busy = True
        self._wire.send(self._wire.any_node(), FIND_COORDINATOR, self._build, self._answered)

    def _build(self, version: int) -> FindCoordinatorRequest:
        if version >= 4:
            return FindCoordinatorRequest(key_type=self._key_type, coordinator_keys=[self._key])
        return FindCoordinatorRequest(key=self._key, key_type=self._key_type)

    def _answered(self, answer: Answer, version: int, now_ms: int) -> None:
        error, text = self._take(answer, version)
        if error is Error.NONE:
            self._busy = False
            self._failures = 0
            self._on_found(now_ms)
            self._settle(None)
            return
        kind = self._key_type.name.lower()
        if action_for(Step.FIND_COORDINATOR, error) is not ErrorAction.RETRY:
            self._busy = False
            refused = error_for(error, text or f"the coordinator of the {kind} {self._key!r} was refused")
            self._on_error(refused, now_ms)
            self._settle(refused)
            return
        retried(error, text or f"the coordinator of the {kind} {self._key!r} is not known")
        self._failures += 1
        wait = backoff_ms(self._failures, self._retry_backoff_ms, self._retry_backoff_max_ms)
        self._wire.timers.schedule(now_ms + wait, self._retry)

    def _retry(self, now_ms: int) -> None:
        self._busy = False
        self.look_up()

    def _take(self, answer: Answer, version: int) -> tuple[Error, str]:
        if isinstance(answer, RequestFailure):
            return answer.error, answer.text
        response: FindCoordinatorResponse = answer
        if version >= 4:
            found = next((item for item in response.coordinators if item.key == self._key), None)
            if found is None:
                return Error.COORDINATOR_NOT_AVAILABLE, ""
            code, node, host, port = found.error_code, found.node_id, found.host, found.port
            text = found.error_message
        else:
            code, node, host, port = response.error_code, response.node_id, response.host, response.port
            text = response.error_message
        if code == 0:
            self._wire.learn(node, host, port)
            self.node = node
        return error_of(code), text or ""
