"""Explains a broker's refusal inside a transaction: likely causes, and what to do.

Called by the steps of a transaction (:mod:`oncelog.spark.kafka.kafka_transaction`), in the driver and in executors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oncelog.client.core.client_errors import error_for
from oncelog.errors import Error, KafkaError


@contextmanager
def with_advice(timeout_ms: int) -> Iterator[None]:
    """Add advice to a refusal if the user can do something about it; the error code stays.

    :param timeout_ms: the transaction's timeout.
    """
    try:
        yield
    except KafkaError as error:
        advice = _advice(error.error, timeout_ms)
        if not advice:
            raise
        text = str(error).removesuffix(f"[{error.error.name}]").rstrip()
        raise error_for(error.error, f"{text}: {advice}") from error


def _advice(error: Error, timeout_ms: int) -> str:
    match error:
        case Error.INVALID_PRODUCER_EPOCH | Error.PRODUCER_FENCED:
            return (
                "another run of this query (or write of this id) has taken over, or the transaction took longer than "
                f"its timeout ({timeout_ms} ms). In the first case leave the query to that run, or stop it before you "
                "start this one again. In the second case use more writers, write less at a time, or raise "
                "kafka.transaction.timeout.ms (at most the broker's transaction.max.timeout.ms)"
            )
        case Error.INVALID_TRANSACTION_TIMEOUT:
            return (
                f"kafka.transaction.timeout.ms is {timeout_ms}, more than the broker's transaction.max.timeout.ms: "
                "lower the option or raise the broker's limit"
            )
        case Error.MESSAGE_TOO_LARGE | Error.RECORD_LIST_TOO_LARGE:
            return (
                "raise max.message.bytes of the topic, lower kafka.batch.size if single rows are smaller, or leave "
                "out rows that are too large"
            )
        case _:
            return ""
