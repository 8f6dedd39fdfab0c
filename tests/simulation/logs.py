"""What ``oncelog verify log`` says of the logs that a world leaves, read in the broker's own process."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from oncelog.apps.verify.expected import Expected
from oncelog.apps.verify.findings import Report, Verdict
from oncelog.apps.verify.outcomes import Outcomes
from oncelog.apps.verify.partition_check import PartitionCheck, Writers
from oncelog.broker.core.broker import Broker
from oncelog.types import INTERNAL_TOPICS, TopicPartition


def findings(
    broker: Broker,
    wheres: Iterable[TopicPartition],
    compacted: Collection[str],
    clean_to: Mapping[TopicPartition, int],
    *,
    producer_expiration_ms: int,
    unclean_elections: bool,
) -> list[str]:
    """Everything that contradicts exactly-once, in words."""
    report, outcomes, writers = Report(), Outcomes(), Writers()
    for where in wheres:
        partition = broker.partition(where)
        if partition is None:
            continue
        expected = Expected(
            compacted=where.topic in compacted or where.topic in INTERNAL_TOPICS,
            clean_to=clean_to.get(where, 0),
            unclean_elections=unclean_elections,
            log_start=partition.log.log_start_offset,
            producer_expiration_ms=producer_expiration_ms,
        )
        check = PartitionCheck(where, expected, report, outcomes)
        for header, batch in partition.log.batches(partition.log.log_start_offset):
            check.take(header, batch)
        stable = next((one.first_offset for one in check.open()), partition.log.log_end_offset)
        if partition.log.last_stable_offset > stable:
            report.add("stable-offset-past-open", where, "", first=stable)
        check.end(writers)
    outcomes.judge(report)
    writers.judge(report)
    outcomes.close()
    return [
        f"{found.kind} at {found.first_offset} of {found.where}, producer {found.producer_id} epoch "
        f"{found.producer_epoch}: {found.detail}"
        for found in report.findings(Verdict.FOUND)
    ]
