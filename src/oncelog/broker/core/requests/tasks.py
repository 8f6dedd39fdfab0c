"""Cooperative tasks: long work on the broker's state, done in chunks with all other callbacks in between.

A request within its limits is handled in one step. Work that grows with the broker's state is a generator that yields
between chunks of at most a quarter of a millisecond; so is a Produce request to many partitions, which writes to many
files. Work of a few chunks is finished in the iteration that begins it; longer work becomes a cooperative task: it
waits in a queue with other tasks of its kind, and the server calls ``step`` for a short time whenever it has nothing
else to do. All tasks that begin between two such times share one budget for their first chunks, so that the requests of
many connections cannot add up to a long delay. A task that yields a ``Deferred`` or a ``Park`` does not continue before
that is resolved. The time of the chunks counts towards the quota of their request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, TypeVar

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.parking import Park
from oncelog.broker.core.requests.session import Channel
from oncelog.broker.core.requests.work import Work
from oncelog.runtime.deferred import Deferred

T = TypeVar("T")

AT_ONCE = 20
AT_ONCE_NS = 250_000
"""The time budget in ns of the iteration in which tasks begin: once it is used up, they do no further chunk in this
iteration."""
AT_A_TIME = 64
"""How many tasks of a kind may run concurrently, because their intermediate results take memory; later tasks wait."""
SHORT = 100
"""After this many chunks a task counts as long; long tasks get half of the steps, so that short ones need not wait for
them."""
GIVE_WAY = 1000
"""The number of steps after which a task of each kind moves to the end of its queue, because it may wait for a later
task."""


class _Task:
    __slots__ = ("clock", "context", "done", "next", "park", "result", "waits_for", "work")

    def __init__(self, work: Work[Any], context: RequestContext | None, clock: Callable[[], int]) -> None:
        self.work = work
        self.context = context
        self.clock = clock
        self.result: Deferred[Any] = Deferred()
        self.done = 0
        self.next: Callable[[], Any] = partial(next, work)
        self.waits_for: Deferred[Any] | None = None
        self.park: Park[Any] | None = None

    def advance(self) -> bool:
        """Do the next chunk; returns True if it was the last chunk."""
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
        if self.context is None:
            return self.next()
        begun_ns = self.clock() - self.context.work_ns
        try:
            return self.next()
        finally:  # replaces the time that the request itself has counted during this step
            self.context.work_ns = self.clock() - begun_ns

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
        """Called when the ``Deferred`` that the task waited for is resolved: the next chunk gets its value."""
        self.next = partial(self.work.send, value)

    def failed(self, error: Exception) -> None:
        self.next = partial(self.work.throw, error)


class _TaskKind:
    """Tasks of one kind: those that run concurrently, and the queue of those that wait to start."""

    def __init__(self) -> None:
        self.queue: deque[_Task] = deque()
        self.running: deque[_Task] = deque()

    def admit(self) -> None:
        """Start the next tasks in the queue, as far as the limit on concurrent tasks allows."""
        while self.queue and len(self.running) < AT_A_TIME:
            self.running.append(self.queue.popleft())

    def drop(self, is_dropped: Callable[[_Task], bool]) -> None:
        self.queue = deque(task for task in self.queue if not is_dropped(task))
        self.running = deque(task for task in self.running if not is_dropped(task))
        self.admit()


class Tasks:
    """Runs cooperative tasks, which take turns, and queues the tasks that wait to start.

    :param work_clock: CPU time of this thread in nanoseconds.
    :param read_only: APIs whose requests change nothing.
    """

    def __init__(self, work_clock: Callable[[], int] = lambda: 0, read_only: Collection[int] = ()) -> None:
        self._read_only = read_only
        self._short, self._long = _TaskKind(), _TaskKind()
        self._waiting: dict[_Task, None] = {}
        self.wanted: Callable[[], None] = lambda: None
        """Called when a task can continue that was waiting, in any iteration of the event loop."""
        self.worked_at_once: Callable[[], object] = lambda: None
        """Called when the first task after :meth:`new_round` begins."""
        self._at_once_ns = 0
        self._steps_now = False
        self._steps = 0
        self._work_clock = work_clock

    def __len__(self) -> int:
        """The number of tasks that can continue or wait to start."""
        short, long = self._short, self._long
        return len(short.queue) + len(short.running) + len(long.queue) + len(long.running)

    def __bool__(self) -> bool:
        """Whether any task can continue; the server checks this in each iteration."""
        return bool(self._short.running or self._long.running)  # tasks wait in the queue only while another task runs

    def begins_for(self, owner: RequestContext) -> int:
        """Begin to count work for a request; the result is to be passed to :meth:`ends_for`, which ends the
        counting."""
        return self._work_clock() - owner.work_ns

    def ends_for(self, owner: RequestContext, begun_ns: int | None) -> None:
        if begun_ns is not None:
            owner.work_ns = self._work_clock() - begun_ns

    def begin(
        self,
        work: Work[T],
        context: RequestContext | None = None,
        *,
        continues: bool = False,
    ) -> Deferred[T]:
        """Begin a task; resolves to the result of the work.

        :param context: the request that the work belongs to, and for whose quota it counts. If its API is read-only,
            the work is cancelled when its connection ends; all other work is finished in any case.

        :param continues: the work continues earlier work whose results take memory, so it does not wait in a queue.
        """
        task = _Task(work, context, self._work_clock)
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
        """Run a new task within the budget of the current iteration; returns True if the task is finished or waits."""
        # a task that begins within another task's step gets one step here, so that the outer step stays short
        most = 1 if self._steps_now else AT_ONCE
        enough = begun_ns + AT_ONCE_NS - self._at_once_ns
        while not task.done or (task.done < most and self._work_clock() <= enough):
            if task.advance():
                return True
            if task.waits_for is not None:
                self._wait(task, task.waits_for)
                return True
        return False

    def new_round(self) -> None:
        """Called when the server has no other work left: the budget for first chunks starts again."""
        self._at_once_ns = 0

    def step(self) -> None:
        """Do one chunk of the next task."""
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
        """Take a task out of its queue while it waits, because it may wait for a task behind it in the queue."""
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
        """Drop the tasks of read-only requests of a connection that ended."""

        def is_dropped(task: _Task) -> bool:
            context = task.context
            return context is not None and context.channel is channel and context.api_key in self._read_only

        for task in [task for task in self._waiting if is_dropped(task)]:
            del self._waiting[task]
        if self:
            self._short.drop(is_dropped)
            self._long.drop(is_dropped)

    def finish(self) -> None:
        """Run all tasks that can continue until they are finished, because the broker stops."""
        while self:
            self.step()
