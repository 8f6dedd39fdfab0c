"""The driver's side of the barrier stage in which the executors write the records of a batch.

Called by the write engine (:mod:`oncelog.spark.sink.engine`), inside the transaction that it has begun and that it
ends. No record passes through this process.
"""

from __future__ import annotations

import logging

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from oncelog.errors import InvariantError, OncelogError
from oncelog.spark.executors.barrier import REPORT, BarrierWriter, RankReport
from oncelog.spark.executors.scheduling import TooFewSlots, enough_slots
from oncelog.spark.executors.shuffle import Repeated, Shuffled
from oncelog.spark.options import SinkOptions
from oncelog.spark.private_apis import texts
from oncelog.spark.sink.engine import CarriedRecords, Observer, Reached, RetryTransaction, SinkRefused
from oncelog.spark.sink.topic_transaction import TopicTransaction

logger = logging.getLogger(__name__)

MAX_TIMEOUT_MS = 900_000
"""The default of Apache Kafka's ``transaction.max.timeout.ms``."""
MIN_TIMEOUT_MS = 60_000
ATTEMPTS = 4
"""The maximum number of attempts at a batch, or at its write, when executors or their workers die: the same as Spark's
attempts at a stage.
"""


class ExecutorsCarrier:
    """Writes shuffled batches with the executors; implements :class:`oncelog.spark.sink.engine.Carrier`.

    Each run of the barrier stage is the last stage of its job, so Spark never repeats it; and each run has a producer
    of its own.
    """

    exact = False
    failures: tuple[type[Exception], ...] = (OncelogError, PySparkException, Py4JJavaError, TooFewSlots, Repeated)

    def __init__(
        self, shuffled: Shuffled, options: SinkOptions, transactional_id: str, batch_id: int | None, observe: Observer
    ) -> None:
        self._shuffled = shuffled
        self._options = options
        self._transactional_id = transactional_id
        self._batch_id = batch_id
        self._observe = observe
        self._attempts = 0

    @property
    def rows(self) -> int:
        return self._shuffled.size.rows

    def carry(self, transaction: TopicTransaction, reached: Reached) -> CarriedRecords | RetryTransaction:
        """Run the writers' stage once; ``RetryTransaction`` if a writer, its Python worker or its executor died.

        Raises Repeated if Spark has recomputed anything.
        """
        self._attempts += 1
        writer = BarrierWriter(
            self._batch_id,
            self._options,
            self._transactional_id,
            transaction.timeout_ms,
            transaction.share(),
            self._observe,
        )
        try:
            plan = self._shuffled.encoded.mapInArrow(writer, REPORT, barrier=True)
            with enough_slots(self._shuffled.spark.sparkContext, self._shuffled.writers):
                reports = [RankReport.decode(row.report) for row in plan.collect()]
        except (PySparkException, Py4JJavaError) as error:
            cause = texts.lost_writer(error)
            if self._attempts == ATTEMPTS or cause is None:
                raise
            self._shuffled.check_executors()
            return RetryTransaction(f"A writer of a batch died; all of its writers start again: {cause}")
        check_reports(reports, self._shuffled.writers)
        self._shuffled.check_made_once()
        if not self._options.cluster.two_phase_commit:
            _warn_of_timeout(max(report.seconds for report in reports), transaction.timeout_ms)
        return CarriedRecords(
            sum(report.rows for report in reports),
            sum(report.batches for report in reports),
            sum(report.size_bytes for report in reports),
        )


def check_reports(reports: list[RankReport], writers: int) -> None:
    """Raises SinkRefused if a rank could not write, and InvariantError if a rank has not reported."""
    for report in sorted(reports, key=lambda report: report.rank):
        if report.refusal:
            raise SinkRefused(report.refusal)
    ranks = sorted(report.rank for report in reports)
    if ranks != list(range(writers)):
        raise InvariantError(f"{ranks} of {writers} writers have reported")


def timeouts_ms(options: SinkOptions) -> tuple[int, ...]:
    """The transaction timeouts to try, in order: only the user's if one is given, else Kafka's maximum and then shorter
    ones."""
    if "transaction.timeout.ms" in options.client or options.cluster.two_phase_commit:
        return (options.transaction_timeout_ms,)
    return (MAX_TIMEOUT_MS, MIN_TIMEOUT_MS)


def _warn_of_timeout(seconds: float, timeout_ms: int) -> None:
    if seconds * 2000 > timeout_ms:
        logger.warning(
            "The transaction of a batch was open for %.0f s, more than half of its timeout (%d ms): use more writers, "
            "write less at a time, or raise kafka.transaction.timeout.ms (at most the broker's "
            "transaction.max.timeout.ms)",
            seconds,
            timeout_ms,
        )
