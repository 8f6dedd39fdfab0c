"""The quota ``controller_mutation_rate``: partitions that a client creates and deletes per second (KIP-599).

Checked by CreateTopics, CreatePartitions, DeleteTopics and Metadata before they change anything. Once the quota is used
up, requests in versions that know THROTTLING_QUOTA_EXCEEDED are refused with this error; for other versions, as in
Apache Kafka, the change is made and the client is throttled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from oncelog.broker.core.limits.throttle import CONTROLLER_MUTATION_RATE

if TYPE_CHECKING:
    from oncelog.broker.core.limits.throttle import Throttle
    from oncelog.broker.core.requests.context import RequestContext

MAX_PARTITIONS_OF_A_REQUEST = 10_000
"""How many partitions a request may create: Kafka's ``MAX_PARTITIONS_PER_BATCH``. Each topic counts as one partition
more."""


class MutationPorts(Protocol):
    """The interface that the quota needs from the broker: the clients' quotas, and the time."""

    throttle: Throttle | None
    now_ms: int


def may_change(ports: MutationPorts, context: RequestContext, partitions: int, first_strict: int) -> bool:
    """Whether the caller may create or delete this many partitions now.

    :param first_strict: the first version of the API that knows THROTTLING_QUOTA_EXCEEDED.
    """
    throttle = ports.throttle
    if throttle is None:
        return True
    strict = context.api_version >= first_strict
    ask = throttle.take if strict else throttle.use
    wait_ms = ask(CONTROLLER_MUTATION_RATE, context.principal, context.client_id, partitions, ports.now_ms)
    throttle.must_wait(context, wait_ms)
    return not (strict and wait_ms)
