"""Names the missing ACL if a broker only says that a principal is not authorized.

Called by the Spark client of a cluster (:mod:`oncelog.spark.kafka.kafka_cluster`,
:mod:`oncelog.spark.kafka.kafka_transaction`). READ and WRITE each include DESCRIBE, so no other operation is needed for
    reading or writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oncelog.client.core.client_errors import error_for
from oncelog.errors import Error, KafkaError


@contextmanager
def naming_the_right(name: str = "", topic_right: str = "") -> Iterator[None]:
    """Make the error for a lack of authorization in the block name the ACL to add.

    :param name: the transactional id, or the group, or both.
    :param topic_right: the operation that is required, and its topic.
    """
    try:
        yield
    except KafkaError as error:
        right = {
            Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: f"WRITE on the transactional id {name}",
            Error.GROUP_AUTHORIZATION_FAILED: f"READ on the group {name}",
            Error.TOPIC_AUTHORIZATION_FAILED: topic_right,
        }.get(error.error)
        if not right:
            raise
        text = str(error).removesuffix(f" [{error.error.name}]")
        raise error_for(error.error, f"{text}: grant the user {right}") from error


__all__ = ["naming_the_right"]
