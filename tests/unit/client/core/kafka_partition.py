"""One partition of Apache Kafka as an idempotent producer sees it: the rule by which its leader takes a sequence.

Source: Kafka's ``ProducerAppendInfo`` and ``ProducerStateEntry``, without verification of transactions.
"""

from __future__ import annotations

from oncelog.client.core.connection.wire import PRODUCE
from oncelog.errors import Error
from oncelog.records.batch import decode_records
from tests.unit.client.core.producers import ProducerCore, header, refuse
from tests.unit.client.core.wires import Sent


class KafkaPartition:
    """A leader's log of one partition and its knowledge of one producer: any sequence may be the first."""

    def __init__(self) -> None:
        self.values: list[bytes | None] = []
        self._epoch = -1
        self._recent: list[tuple[int, int]] = []

    def forget_producer(self) -> None:
        self._epoch, self._recent = -1, []

    def write(self, sent: Sent) -> Error:
        found = header(sent)
        if found.producer_epoch != self._epoch:
            if self._epoch != -1 and found.base_sequence:
                return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
            self._recent = []
        elif (found.base_sequence, found.records_count) in self._recent:
            return Error.DUPLICATE_SEQUENCE_NUMBER
        elif sum(self._recent[-1]) != found.base_sequence:
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        self._epoch = found.producer_epoch
        self._recent = [*self._recent, (found.base_sequence, found.records_count)][-5:]
        records = sent.message.topic_data[0].partition_data[0].records
        self.values += [record.value for record in decode_records(records)]
        return Error.NONE

    def answer(self, sent: Sent) -> None:
        refuse(sent, self.write(sent), len(self.values))


def serve(core: ProducerCore, kafka: KafkaPartition) -> None:
    """Answer everything that is sent until all of it has an outcome; a minute at most."""
    for _ in range(600):
        while core.wire.count(PRODUCE):
            kafka.answer(core.produced())
        if core.sender.idle:
            return
        core.wire.pass_time(100)
    raise AssertionError(f"stalled with {core.outcomes} and {len(core.accumulator.incomplete)} batches")
