"""Handles requests about many groups in chunks, and only for groups that the caller is authorized for.

Called by the handlers of DescribeGroups, ConsumerGroupDescribe and DeleteGroups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, in_chunks
from oncelog.broker.core.security.access import GROUP, allows, authorized_operations
from oncelog.errors import Error
from oncelog.protocol.acls import Operation
from oncelog.protocol.generated import (
    consumer_group_describe_response,
    describe_groups_response,
    share_group_describe_response,
)
from oncelog.runtime.deferred import Deferred, gather

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import GroupPorts

GROUPS_IN_A_CHUNK = 20
G = TypeVar("G")
Described = TypeVar(
    "Described",
    describe_groups_response.DescribedGroup,
    consumer_group_describe_response.DescribedGroup,
    share_group_describe_response.DescribedGroup,
)


def of_each_group(
    ports: GroupPorts,
    context: RequestContext,
    operation: Operation,
    names: Sequence[str],
    ask: Callable[[list[str]], Deferred[list[G]]],
    refused: Callable[[str, Error], G],
    memory_of: Callable[[list[G]], tuple[int, int]] | None = None,
) -> Work[Deferred[list[G]]]:
    """The answers of ``ask`` for the groups, then those of ``refused`` for groups that the caller is not authorized
    for.

    :param memory_of: the number of entries in the answers and the bytes that they take besides, for answers that may be
        long (``answer_memory``).
    """
    answers: list[Deferred[list[G]]] = []
    hidden: list[G] = []
    for some in in_chunks(names, GROUPS_IN_A_CHUNK):
        mine = []
        for name in some:
            if allows(ports, context, operation, GROUP, name):
                mine.append(name)
            else:
                hidden.append(refused(name, Error.GROUP_AUTHORIZATION_FAILED))
        answer = ask(mine)
        if memory_of is not None and answer.succeeded:
            yield from ports.answer_memory.grow(context, *memory_of(answer.value))
        if answer.succeeded and answers and answers[-1].succeeded:
            answers[-1].value.extend(answer.value)  # merged here, so that the last step has only a few answers to merge
        else:
            answers.append(answer.map(list))
        yield
    return gather(answers).map(lambda parts: [*chain.from_iterable(parts), *hidden])


def with_operations(ports: GroupPorts, context: RequestContext, groups: list[Described]) -> list[Described]:
    """The groups, each with the caller's authorized operations unless it has an error."""
    for group in groups:
        if group.error_code == Error.NONE:
            group.authorized_operations = authorized_operations(ports, context, GROUP, group.group_id)
    return groups
