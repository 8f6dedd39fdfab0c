"""Thin wrappers that record what a client does: oncelog's (blocking and asyncio), confluent-kafka's and aiokafka's.

Called by programs' tests. A wrapped client is used as before: all methods of the client are available. Sends with their
acknowledgements, transactions, reads, seeks, rebalances and committed positions are recorded.
"""

from __future__ import annotations

from typing import Any

from oncelog.testing.history.consumers import RecordedConsumer
from oncelog.testing.history.events import History
from oncelog.testing.history.producers import RecordedProducer
from oncelog.testing.history.wrapping import Identity, value_of


def recorded(
    client: Any,
    history: History,
    name: str,
    *,
    identity: Identity = value_of,
    group: str = "",
    isolation: str | None = None,
) -> Any:
    """A wrapper that is used like the client and records what it does.

    :param name: the name of the producer's run or of the reader in the history.
    :param identity: what distinguishes records; by default the value.
    :param group: the group whose committed positions are recorded: a consumer's, or that whose positions a producer
        commits in its transactions. By default the client's own group, or else the name.
    :param isolation: the consumer's isolation level. By default the client's own; confluent-kafka does not report it,
        so its default, ``read_committed``, is assumed.
    """
    if hasattr(client, "send") or hasattr(client, "produce"):
        return RecordedProducer(client, history, name, identity, group)
    return RecordedConsumer(client, history, name, identity, group, isolation)
