"""Work on requests that may take long, chunk by chunk, with all other callbacks in between.

A handler whose work grows with what a request names, or with everything the broker holds, is a generator that yields
between chunks of a quarter of a millisecond at most. Work of a few chunks is finished in the iteration that begins it;
the rest is a cooperative task: it waits in a queue with others of its kind, and the server calls ``step`` when there is
nothing else to do, for a short while at a time. All tasks that begin before the server does so share the time that one
may take at once: otherwise requests of many connections would delay everyone together. A task that yields a
``Deferred`` or a ``Park`` does not continue before that is resolved. The time of the chunks counts as their request's
(quotas).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from oncelog.broker.requests.context import RequestContext
from oncelog.broker.requests.parking import Park
from oncelog.broker.requests.session import Channel
from oncelog.broker.requests.work import Work
from oncelog.deferred import Deferred

T = TypeVar("T")

AT_ONCE = 20
AT_ONCE_NS = 250_000
"""Work in the request's own iteration after which no further chunk is begun in it."""
AT_A_TIME = 64
"""How many tasks of a kind run concurrently, because their intermediate results take memory; later ones wait."""
SHORT = 100
"""After this many chunks a task counts as long; long ones get half of the steps, so that short ones need not wait."""
GIVE_WAY = 1000
"""Once in this many steps, a task of each kind goes to the end of its queue: it may wait for what a later one does."""
AT_ONCE_IN_A_CROWD = 2
"""Chunks done in the request's own iteration if many tasks are under way: most requests need no more."""


class _Task:
    __slots__ = ("channel", "clock", "done", "next", "owner", "park", "result", "waits_for", "work")

    def __init__(
        self, work: Work[Any], channel: Channel | None, owner: RequestContext | None, clock: Callable[[], int]
    ) -> None:
        self.work = work
        self.channel = channel
        self.owner = owner
        self.clock = clock
        self.result: Deferred[Any] = Deferred()
        self.done = 0
        self.next: Callable[[], Any] = partial(next, work)
        self.waits_for: Deferred[Any] | None = None
        self.park: Park[Any] | None = None

    def advance(self) -> bool:
        """Do one more chunk; returns True if it was the last one."""
        self.done += 1
        park, self.park = self.park, None
        try:
            value = self._next()
        except StopIteration as end:
            self._end(park)
            self.result.resolve(end.value)
        except Exception as error:  # noqa: BLE001 - passed to the caller that waits for the result
            self._end(park)
            self.result.fail(error)
        else:
            self._yielded(value)
            self._end(park)
            return False
        return True

    def _next(self) -> Any:
        if self.owner is None:
            return self.next()
        begun_ns = self.clock()
        try:
            return self.next()
        finally:
            self.owner.work_ns += self.clock() - begun_ns

    def _yielded(self, value: Any) -> None:
        self.waits_for = None
        if value is None:
            self.next = partial(next, self.work)
            return
        if isinstance(value, Park):
            self.park = value
            value = value.until
        if value.done:
            value.then(self.known, self.failed)
        else:
            self.waits_for = value

    @staticmethod
    def _end(park: Park[Any] | None) -> None:
        if park is not None:
            park.end()

    def known(self, value: Any) -> None:
        """What it waited for is known."""
        self.next = partial(self.work.send, value)

    def failed(self, error: Exception) -> None:
        self.next = partial(self.work.throw, error)


class _Kind:
    """Tasks of one kind: those running concurrently, and the queue in front of them."""

    def __init__(self) -> None:
        self.queue: deque[_Task] = deque()
        self.running: deque[_Task] = deque()

    def __len__(self) -> int:
        return len(self.queue) + len(self.running)

    def admit(self) -> None:
        """Start the next tasks in the queue, as far as the limit allows."""
        while self.queue and len(self.running) < AT_A_TIME:
            self.running.append(self.queue.popleft())

    def drop(self, channel: Channel) -> None:
        self.queue = deque(task for task in self.queue if task.channel is not channel)
        self.running = deque(task for task in self.running if task.channel is not channel)
        self.admit()


class Tasks:
    """Tasks under way, which alternate, and the queues of those waiting.

    :param work_clock: nanoseconds that this thread has worked.
    """

    def __init__(self, work_clock: Callable[[], int] = lambda: 0) -> None:
        self._short, self._long = _Kind(), _Kind()
        self._waiting: dict[_Task, None] = {}
        self.wanted: Callable[[], None] = lambda: None
        """Called when a task that waited can continue, whichever iteration that happens in."""
        self.worked_at_once: Callable[[], object] = lambda: None
        """Called when the first task after :meth:`new_round` is begun."""
        self._at_once_ns = 0
        self._steps_now = False
        self._steps = 0
        self._work_clock = work_clock

    def __len__(self) -> int:
        """How many tasks can continue."""
        return len(self._short) + len(self._long)

    def begins_for(self, owner: RequestContext) -> int:
        """Start counting work for a request, until :meth:`ends_for` is called with this result."""
        return self._work_clock() - owner.work_ns

    def ends_for(self, owner: RequestContext, begun_ns: int | None) -> None:
        if begun_ns is not None:
            owner.work_ns = self._work_clock() - begun_ns

    def begin(
        self,
        work: Work[T],
        channel: Channel | None = None,
        *,
        owner: RequestContext | None = None,
        continues: bool = False,
    ) -> Deferred[T]:
        """:param channel: its end makes the work pointless; None: the work changes something and is done in any case.

        :param owner: the request that the work belongs to: it counts for its quota.
        :param continues: it is the second half of another work whose results take memory: it does not wait in a queue.
        """
        task = _Task(work, channel, owner, self._work_clock)
        begun_ns = self._work_clock()
        try:
            if self._at_once(task, begun_ns):
                return task.result
        finally:
            if not self._at_once_ns:
                self.worked_at_once()
            self._at_once_ns += self._work_clock() - begun_ns
        if continues:
            self._short.running.append(task)
        else:
            self._short.queue.append(task)
            self._short.admit()
        return task.result

    def _at_once(self, task: _Task, begun_ns: int) -> bool:
        """Do as much of a new task as may be done in its own iteration; True if it is finished or waits."""
        most = AT_ONCE if len(self._short.running) < AT_A_TIME else AT_ONCE_IN_A_CROWD
        if self._steps_now:  # this is another task's step, which must not get longer
            most = 1
        enough = begun_ns + AT_ONCE_NS - self._at_once_ns
        while not task.done or (task.done < most and self._work_clock() <= enough):
            if task.advance():
                return True
            if task.waits_for is not None:
                self._wait(task, task.waits_for)
                return True
        return False

    def new_round(self) -> None:
        """Everything else that there was to do has been done."""
        self._at_once_ns = 0

    def step(self) -> None:
        """Do one chunk of the work that is next."""
        self._steps_now = True
        try:
            self._step()
        finally:
            self._steps_now = False

    def _step(self) -> None:
        self._steps += 1
        short, long = self._short, self._long
        kind = short if short.running and (self._steps % 2 or not long.running) else long
        task = kind.running.popleft()
        if not task.advance():
            if task.waits_for is not None:
                self._wait(task, task.waits_for)
            elif kind is short and task.done >= SHORT:
                long.queue.append(task)
            elif self._steps % GIVE_WAY > 1:
                kind.running.append(task)
            else:
                kind.queue.append(task)
        short.admit()
        long.admit()

    def _wait(self, task: _Task, until: Deferred[Any]) -> None:
        """Give up its place meanwhile: it may be waiting for a task behind it in the queue."""
        self._waiting[task] = None
        until.then(
            lambda value: self._continue(task, partial(task.known, value)),
            lambda error: self._continue(task, partial(task.failed, error)),
        )

    def _continue(self, task: _Task, resume: Callable[[], None]) -> None:
        if task in self._waiting:
            resume()
            del self._waiting[task]
            kind = self._long if task.done >= SHORT else self._short
            kind.queue.append(task)
            kind.admit()
            self.wanted()

    def drop(self, channel: Channel) -> None:
        """The connection ended: its answers are not needed."""
        for task in [task for task in self._waiting if task.channel is channel]:
            del self._waiting[task]
        if self:
            self._short.drop(channel)
            self._long.drop(channel)

    def finish(self) -> None:
        """Finish everything: the broker stops."""
        while self:
            self.step()
