"""Thin wrappers that record what a client does: ours (blocking and asyncio), confluent-kafka's and aiokafka's.

Called by programs' tests. A wrapped client is used as before: everything else goes through to the client. Recorded are
sends with their acknowledgements, transactions, reads, seeks, rebalances, and committed positions.
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
    """The client, used as before, with what it does recorded.

    :param name: of the producer's run or of the reader in the history.
    :param identity: what distinguishes records; by default the value.
    :param group: the group whose committed positions are recorded: a consumer's, or that whose positions a producer
        commits in its transactions. By default the one that the client says, or else the name.
    :param isolation: of a consumer. By default what the client says; confluent-kafka's does not, so it is taken to have
        its default, ``read_committed``.
    """
    if hasattr(client, "send") or hasattr(client, "produce"):
        return RecordedProducer(client, history, name, identity, group)
    return RecordedConsumer(client, history, name, identity, group, isolation)
