"""How a request waits without being overtaken by later ones: its work yields a :class:`Park`.

Called by the broker, its handlers and the append pipeline. Until the park ends, the request's connection starts no
other request.

Invariants
- A park ends once its request has continued: the connection's next request never sees a state in which the wait is over
  but the following step is not done.
- If a step leads to the next park, no other request of the connection starts in between.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, Generic, TypeVar

from oncelog.broker.core.requests.context import Parking, RequestContext
from oncelog.broker.core.requests.work import Work
from oncelog.runtime.deferred import Deferred

T = TypeVar("T")

_NOTHING: Deferred[Any] = Deferred.of(None)
MAX_PARKS = 64
"""The maximum number of parks of one request at a time, one for each batch that waits: each takes memory besides the
batch's bytes."""


class ParkReason(Enum):
    """The event that a parked request waits for."""

    MEMORY = "memory and its turn to be decoded, in the order of arrival"
    VALIDATION = "a worker thread validates a batch"
    APPENDS = "its batches are appended to many partitions, others in between"


class Park(Generic[T]):
    """One wait of a request, during which its connection starts no other request."""

    __slots__ = ("_parking", "_request", "reason", "until")

    def __init__(self, request: RequestContext, reason: ParkReason, until: Deferred[T]) -> None:
        self._request = request
        self.reason = reason
        self.until = until
        if request.parking is None:
            request.parking = Parking()
        self._parking = request.parking
        self._parking.count += 1
        request.channel.pause_requests()

    def end(self) -> None:
        """End the park, because the request has continued. When the last park of a request ends, its connection may
        start further requests."""
        request, parking = self._request, self._parking
        parking.count -= 1
        if not parking.count:
            request.channel.resume_requests(request.slot)
        capacity, parking.capacity = parking.capacity, None
        if capacity is not None:
            capacity.resolve(None)


def capacity_to_park(request: RequestContext) -> Work[None]:
    """Wait while the request has the maximum number of parks."""
    while request.parking is not None and request.parking.count >= MAX_PARKS:
        request.parking.capacity = Deferred()
        yield request.parking.capacity


def carry_out(work: Work[T]) -> Deferred[T]:
    """Run the work without other requests in between, up to where it has to wait; if it never has to, the result is
    known at once."""
    try:
        waits_for = next(work)
        while waits_for is None:
            waits_for = next(work)
    except StopIteration as end:
        return _NOTHING if end.value is None else Deferred.of(end.value)
    except Exception as error:  # noqa: BLE001 - passed to the caller that waits for the result
        return Deferred.of_failure(error)
    result: Deferred[T] = Deferred()
    _wait(work, result, waits_for)
    return result


def _wait(work: Work[T], result: Deferred[T], waits_for: Deferred[Any] | Park[Any]) -> None:
    park = waits_for if isinstance(waits_for, Park) else None
    until = waits_for.until if isinstance(waits_for, Park) else waits_for
    until.then(
        lambda value: _continue(work.send, value, work, result, park),
        lambda error: _continue(work.throw, error, work, result, park),
    )


def _continue(
    step: Callable[[Any], Any], outcome: object, work: Work[T], result: Deferred[T], park: Park[Any] | None
) -> None:
    then: Callable[[], None]
    try:
        waits_for = step(outcome)
        while waits_for is None:
            waits_for = next(work)
    except StopIteration as end:
        then = partial(result.resolve, end.value)
    except Exception as error:  # noqa: BLE001 - passed to the caller that waits for the result
        then = partial(result.fail, error)
    else:
        then = partial(_wait, work, result, waits_for)
    if park is not None:
        park.end()
    then()
