"""Carries out a group's commits in the order of their arrival, however long it takes to decode each of them.

Called by ``broker``, and by the handlers of OffsetCommit and TxnOffsetCommit. Commits of many partitions are worked on
in chunks, and may have to wait for memory first. Meanwhile their consumer may give up, reconnect and continue: if a
short commit of the new connection were carried out first, its offsets would later be set back.

Only a group with a long commit under way has a queue.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from oncelog.broker.core.requests.commit_queue import CommitQueue, QueuePlace
from oncelog.broker.core.requests.work import Work, finished
from oncelog.broker.core.security.access import GROUP, AccessPorts, allows
from oncelog.protocol.acls import Operation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import is_flexible
from oncelog.protocol.wire import READ_ERRORS, read_uvarint
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.requests.context import RequestContext
    from oncelog.broker.core.requests.tasks import Tasks

T = TypeVar("T")
COMMITS: Final = frozenset({ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT})
_unpack_length = Struct(">h").unpack_from


class CommitPorts(AccessPorts, Protocol):
    """What commits of groups need from the broker."""

    tasks: Tasks


class CommitOrder:
    """The queues of all groups."""

    def __init__(self, ports: CommitPorts) -> None:
        self._ports = ports
        self._lines: dict[str, CommitQueue] = {}

    def __contains__(self, group_id: str) -> bool:
        """Whether a commit of the group must wait."""
        return group_id in self._lines

    def arrived(self, context: RequestContext, frame: memoryview, body: int) -> None:
        """A long request has arrived: if it is a commit and the caller is authorized for it, add it to its group's
        queue now."""
        if context.api_key in COMMITS:
            group_id = _group_of(context, frame, body)
            if group_id is not None and allows(self._ports, context, Operation.READ, GROUP, group_id, log=False):
                context.commit_place = QueuePlace(self._lines, group_id)

    def carry_out(self, context: RequestContext, group_id: str, work: Work[Deferred[T]], *, few: bool) -> Deferred[T]:
        """Do ``work``, which ends with a commit, after all commits that arrived before; returns its answer.

        :param few: the work is at most one chunk.
        """
        if context.commit_place is None:
            if few and group_id not in self._lines:
                return finished(work)
            context.commit_place = QueuePlace(self._lines, group_id)
        place, answer = context.commit_place, Deferred[T]()
        tasks = self._ports.tasks

        def begin() -> None:
            made = tasks.begin(work, owner=context)
            made.then(lambda answered: answered.then(answer.resolve, answer.fail), answer.fail)
            made.then(lambda _: place.leave(), lambda _: place.leave())

        place.when_first(begin)
        return answer


def _group_of(context: RequestContext, frame: memoryview, body: int) -> str | None:
    """The group of a commit that has not been decoded yet; None if it cannot be read."""
    strings = 1 if context.api_key == ApiKey.OFFSET_COMMIT else 2  # the transactional id comes first
    position, text = body, ""
    try:
        for _ in range(strings):
            if is_flexible(context.api_key, context.api_version):
                length, position = read_uvarint(frame, position)
                length -= 1
            else:
                (length,) = _unpack_length(frame, position)
                position += 2
            text = str(frame[position : position + length], "utf-8")
            position += length
    except READ_ERRORS:
        return None
    return text
