"""EndTxn requests that differ from an earlier one of their connection only in producer id, epoch and correlation id.

With transaction version 2 each transaction has the next epoch, and everything else stays (``apis/end_txn.py`` is the
general path). Only the end of an open transaction by its owner is handled here, which is answered at once if nothing
waits for a sync; the coordinator decides about it as about any other. A property test compares both paths.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from oncelog.broker.context import Part, RequestContext
from oncelog.broker.repeated_requests import RepeatedRequests
from oncelog.errors import NONE
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import encode_response_header
from oncelog.protocol.repeated import CORRELATION_AT, RequestPattern
from oncelog.types import TRANSACTION_STATE_TOPIC, ProducerIdAndEpoch

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker
    from oncelog.protocol.generated.end_txn_request import EndTxnRequest

FIRST_WITH_EPOCH_BUMP: Final = 5
"""Older versions have another answer, and their clients are not performance-critical."""
_GAP: Final = Struct(">qh")
_MARKS: Final = (-0x5A5A_0001_7E57_0006, -0x5A5A)


class _Known(NamedTuple):
    """An end without its producer, its answer around the correlation id and the next producer, and its version."""

    pattern: RequestPattern
    transactional_id: str
    committed: bool
    size: bytes
    between: bytes
    after: bytes
    version: int


class RepeatedEnds(RepeatedRequests[_Known]):
    def __init__(self, broker: Broker) -> None:
        super().__init__(broker, ApiKey.END_TXN)

    def learn(self, context: RequestContext, request: EndTxnRequest, frame: memoryview, body: int) -> None:
        """Remember an end that was just carried out, if the next one may be like it."""
        version, channel = context.api_version, context.channel
        if version < FIRST_WITH_EPOCH_BUMP or not self._may_learn(channel):
            return
        if not self._broker.flushing.commits_at_once(TRANSACTION_STATE_TOPIC):
            return  # an answer that has to wait takes the general path
        from oncelog.protocol.generated.end_txn_response import EndTxnResponse  # which a start does not need

        mark = _GAP.pack(*_MARKS)
        given = request.producer_id, request.producer_epoch
        request.producer_id, request.producer_epoch = _MARKS
        pattern = RequestPattern.of(frame, body, request.encode(version), mark)
        request.producer_id, request.producer_epoch = given
        if pattern is None:
            return
        encoded = EndTxnResponse(producer_id=_MARKS[0], producer_epoch=_MARKS[1]).encode(version)
        answer = encode_response_header(ApiKey.END_TXN, version, 0, len(encoded)) + encoded
        at = answer.index(mark)
        self._known[channel] = _Known(
            pattern,
            request.transactional_id,
            request.committed,
            answer[:4],
            answer[8:at],
            answer[at + len(mark) :],
            version,
        )

    def _answer(self, known: _Known, buffer: bytearray, start: int, now_ms: int) -> list[Part] | None:
        broker = self._broker
        broker.settle(now_ms)
        pattern, transactional_id, committed, size, between, after, _ = known
        stamp = ProducerIdAndEpoch(*_GAP.unpack_from(buffer, start + pattern.gap_at))
        transactions = broker.transactions
        if not transactions.may_end(transactional_id, stamp):
            return None
        error, following, _ = transactions.end_txn(transactional_id, stamp, committed, now_ms, 2).value
        if error is not NONE:
            return None  # the disk failed: nothing was written, and the general path tries once more
        correlation_id = bytes(buffer[start + CORRELATION_AT : start + CORRELATION_AT + 4])
        return [b"".join((size, correlation_id, between, _GAP.pack(*following), after))]
