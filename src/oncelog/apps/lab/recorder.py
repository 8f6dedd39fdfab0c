"""Turns the frames that pass the proxy into events: the content of each request and of its answer.

Called on the proxy's thread, and read by the lab's own. Only clients that are actors of a flow are shown, and only
their requests about records and transactions; all others are counted.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oncelog.apps.lab.trace import COORDINATOR, PARTITION, TraceDelivery, TraceEvent, TraceKind, span
from oncelog.broker.faults.rules import Action, Fault
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.framing import RequestHeader, decode_request_header, decode_response_header
from oncelog.protocol.messages import request_type, response_type
from oncelog.protocol.struct_fields import ZERO_UUID
from oncelog.records.batch import BatchHeader, decode_records, iter_headers
from oncelog.types import IsolationLevel, encode_uuid

ApiFields = tuple[str, dict[str, object]]
"""The description of an event: its text, and the same content as fields."""


class _PendingRequest(NamedTuple):
    actor: str
    lane: str
    header: RequestHeader
    request: Any


class Recorder:
    """Implements ``ProxyObserver``.

    :param actors: the client ids to show; they are also lanes.
    :param lanes: the lanes of the coordinator and of the partition, by role.
    """

    def __init__(self, actors: Sequence[str], lanes: Mapping[str, str]) -> None:
        self._actors = actors
        self._lanes = lanes
        self._open: dict[int, _PendingRequest] = {}
        self._answers: dict[int, bytes] = {}
        self._stored: dict[tuple[int, int, int], int] = {}
        """The offset that the broker reported for a batch, by producer id, epoch and first sequence."""
        self._changed = threading.Condition()
        self.events: list[TraceEvent] = []
        self.left_out: Counter[str] = Counter()

    # --- ProxyObserver

    def asked(self, number: int, header: RequestHeader, frame: bytes, struck: Sequence[Fault]) -> None:
        actor = header.client_id
        if actor is None or actor not in self._actors:
            return
        if header.api_key not in _SHOWN or not header.is_known:
            with self._changed:
                self.left_out[_name(header.api_key)] += 1
            return
        actions = {fault.action for fault in struck}
        _, body = decode_request_header(frame)
        request = request_type(header.api_key).decode(frame, header.api_version, body)
        shown = _SHOWN[ApiKey(header.api_key)]
        text, fields = shown.request(request)
        lane = self._lanes[shown.role]
        lost = bool(actions & {Action.LOSE_REQUEST, Action.BLACKHOLE})
        asked = _PendingRequest(actor, lane, header, request)
        fields = {"api": _name(header.api_key), "version": header.api_version, **fields}
        with self._changed:
            self._open[number] = asked
            delivery = TraceDelivery.LOST if lost else TraceDelivery.ARRIVED
            self._add(TraceEvent(TraceKind.REQUEST, actor, lane, text, delivery, fields))

    def answered(self, number: int, frame: bytes) -> None:
        with self._changed:
            if number in self._open:
                self._answers[number] = bytes(frame)
                self._changed.notify_all()

    def delivered(self, number: int, arrived: bool) -> None:
        with self._changed:
            asked, frame = self._open.pop(number, None), self._answers.pop(number, None)
            if asked is None or frame is None:
                return
            header = asked.header
            _, position = decode_response_header(frame, header.api_key, header.api_version)
            answer = response_type(header.api_key).decode(frame, header.api_version, position)
            shown = _SHOWN[ApiKey(header.api_key)]
            error, description = shown.answer(asked.request, answer)
            if error is not Error.NONE:
                description = error.name, {"error": error.name}
            elif header.api_key == ApiKey.PRODUCE:
                description = self._produced(asked.request, description)
            text, fields = description
            delivery = (
                TraceDelivery.LOST
                if not arrived
                else TraceDelivery.REFUSED
                if error is not Error.NONE
                else TraceDelivery.ARRIVED
            )
            fields = {"api": _name(header.api_key), **fields}
            self._add(TraceEvent(TraceKind.ANSWER, asked.lane, asked.actor, text, delivery, fields))

    def _produced(self, request: Any, description: ApiFields) -> ApiFields:
        """The text and the fields of a Produce answer; the text says so if an earlier answer contained the same offset
        for the same batch."""
        text, fields = description
        header = next(_batches(request), (None, ()))[0]
        offset = fields["base_offset"]
        if header is None or not isinstance(offset, int) or header.producer_id < 0:
            return text, fields
        key = (header.producer_id, header.producer_epoch, header.base_sequence)
        if self._stored.get(key) == offset:
            return f"offset {offset} again: known, not stored twice", {**fields, "duplicate": True}
        self._stored[key] = offset
        return text, fields

    def lane(self, role: str) -> str:
        """The lane on which this flow draws a role: the coordinator or the partition."""
        return self._lanes[role]

    # --- the lab

    def add(self, event: TraceEvent) -> None:
        """Add an event that was not seen on the wire."""
        with self._changed:
            self._add(event)

    def _add(self, event: TraceEvent) -> None:
        self.events.append(event)
        self._changed.notify_all()

    def wait(self, condition: Callable[[Recorder], bool], timeout: float = 60) -> bool:
        """Wait until the condition holds for this recorder; returns whether it did within ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self), timeout)

    def answers_of(self, api: ApiKey) -> int:
        """The number of the broker's answers to an API that no client has received yet."""
        return sum(self._open[number].header.api_key == api for number in self._answers)


def _name(api_key: int) -> str:
    try:
        return ApiKey(api_key).name.title().replace("_", "")
    except ValueError:
        return f"API {api_key}"


# --- the content of requests and answers


class _Shown(NamedTuple):
    role: str
    request: Callable[[Any], ApiFields]
    answer: Callable[[Any, Any], tuple[Error, ApiFields]]


def _identity(producer_id: int, epoch: int) -> str:
    return f"PID {producer_id}, epoch {epoch}"


def _batches(request: Any) -> Iterator[tuple[BatchHeader, tuple[str, ...]]]:
    for topic in request.topic_data:
        for part in topic.partition_data:
            yield from batches_of(part.records or b"")


def batches_of(data: bytes | memoryview) -> Iterator[tuple[BatchHeader, tuple[str, ...]]]:
    """Headers and values of stored batches; a control batch has no values."""
    for position, header in iter_headers(data):
        records = () if header.is_control else decode_records(data, position)
        yield header, tuple(bytes(record.value or b"").decode(errors="replace") for record in records)


def _produce(request: Any) -> ApiFields:
    header, values = next(_batches(request))
    fields: dict[str, object] = {"values": list(values)}
    text = f"Produce {', '.join(values)}"
    if header.producer_id < 0:
        return f"{text}, no PID", fields
    numbers = span(header.base_sequence, header.base_sequence + header.records_count - 1)
    fields |= {
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "sequence": header.base_sequence,
        "transactional_id": request.transactional_id,
    }
    return f"{text}: {_identity(header.producer_id, header.producer_epoch)}, sequence {numbers}", fields


def _produced(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    part = answer.responses[0].partition_responses[0]
    return Error(part.error_code), (f"stored at offset {part.base_offset}", {"base_offset": part.base_offset})


def _fetch(request: Any) -> ApiFields:
    offset = request.topics[0].partitions[0].fetch_offset
    isolation = IsolationLevel(request.isolation_level).name.lower()
    return f"Fetch from offset {offset}, {isolation}", {"offset": offset, "isolation": isolation}


def _fetched(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    part = answer.responses[0].partitions[0]
    batches = list(batches_of(part.records or b""))
    values = [value for header, found in batches if not header.is_control for value in found]
    aborted = [(item.producer_id, item.first_offset) for item in part.aborted_transactions or ()]
    text = f"{', '.join(values) or 'nothing'}; last stable offset {part.last_stable_offset} of {part.high_watermark}"
    text += "".join(f"; aborted: PID {pid} from {first}" for pid, first in aborted)
    return Error(answer.error_code or part.error_code), (
        text,
        {
            "values": values,
            "last_stable_offset": part.last_stable_offset,
            "high_watermark": part.high_watermark,
            "aborted": [{"producer_id": pid, "first_offset": first} for pid, first in aborted],
        },
    )


def _init(request: Any) -> ApiFields:
    name = request.transactional_id
    return f"InitProducerId{f' {name}' if name else ''}", {"transactional_id": name}


def _initialised(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    fields: dict[str, object] = {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
    return Error(answer.error_code), (_identity(answer.producer_id, answer.producer_epoch), fields)


def _add_partitions(request: Any) -> ApiFields:
    names = [f"{topic.name}-{index}" for topic in request.v3_and_below_topics for index in topic.partitions]
    pid, epoch = request.v3_and_below_producer_id, request.v3_and_below_producer_epoch
    return (
        f"AddPartitionsToTxn: {_identity(pid, epoch)}",
        {"partitions": names, "producer_id": pid, "producer_epoch": epoch},
    )


def _added(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    codes = [
        part.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    ]
    return Error(next((code for code in codes if code), 0)), ("added", {})


def _end(request: Any) -> ApiFields:
    end = "commit" if request.committed else "abort"
    return (
        f"EndTxn {end}: {_identity(request.producer_id, request.producer_epoch)}",
        {"committed": request.committed, "producer_id": request.producer_id, "producer_epoch": request.producer_epoch},
    )


def _ended(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    if answer.producer_id < 0:
        return Error(answer.error_code), ("decided", {})
    identity = _identity(answer.producer_id, answer.producer_epoch)
    fields = {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
    return Error(answer.error_code), (f"decided; from now on {identity}", fields)


def _markers(request: Any) -> ApiFields:
    marker = request.markers[0]
    end = "commit" if marker.transaction_result else "abort"
    return (
        f"WriteTxnMarkers {end}: {_identity(marker.producer_id, marker.producer_epoch)}",
        {"producer_id": marker.producer_id, "producer_epoch": marker.producer_epoch},
    )


def _marked(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    return Error(answer.markers[0].topics[0].partitions[0].error_code), ("written", {})


def _describe_producers(request: Any) -> ApiFields:
    return "DescribeProducers", {}


def _producers(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    part = answer.topics[0].partitions[0]
    opened = [(state.producer_id, state.current_txn_start_offset) for state in part.active_producers]
    open_ones = [f"PID {pid} has a transaction open from offset {start}" for pid, start in opened if start >= 0]
    return Error(part.error_code), (", ".join(open_ones) or "no transaction is open", {"open": open_ones})


def _describe(request: Any) -> ApiFields:
    names = ", ".join(request.transactional_ids)
    return f"DescribeTransactions {names}", {"transactional_ids": list(request.transactional_ids)}


def _described(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    states = [(state.transactional_id, state.transaction_state) for state in answer.transaction_states]
    codes = [state.error_code for state in answer.transaction_states]
    text = ", ".join(f"{name} is {state}" for name, state in states)
    return Error(next((code for code in codes if code), 0)), (text, {"states": dict(states)})


def _list(request: Any) -> ApiFields:
    pids = ", ".join(map(str, request.producer_id_filters))
    return f"ListTransactions of PID {pids}" if pids else "ListTransactions", {}


def _listed(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    found = [f"{state.transactional_id} is {state.transaction_state}" for state in answer.transaction_states]
    return Error(answer.error_code), (", ".join(found) or "none", {"transactions": found})


def _offsets(first: int, last: int, count: int) -> str:
    return f"{span(first, last)} (delivery {count})"


def _share_fetch(request: Any) -> ApiFields:
    return "ShareFetch", {"session_epoch": request.share_session_epoch}


def _shared(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    parts = [part for topic in answer.responses for part in topic.partitions]
    acquired = [
        (each.first_offset, each.last_offset, each.delivery_count) for part in parts for each in part.acquired_records
    ]
    error = next((code for code in (answer.error_code, *(part.error_code for part in parts)) if code), 0)
    text = f"acquired {', '.join(_offsets(*each) for each in acquired)}" if acquired else "nothing"
    return Error(error), (text, {"acquired": [list(each) for each in acquired]})


_ACKNOWLEDGED = {0: "gap", 1: "accept", 2: "release", 3: "reject", 4: "renew"}


def _share_acknowledge(request: Any) -> ApiFields:
    batches = [batch for topic in request.topics for part in topic.partitions for batch in part.acknowledgement_batches]
    shown = [
        f"{'/'.join(_ACKNOWLEDGED[kind] for kind in batch.acknowledge_types)} "
        f"{span(batch.first_offset, batch.last_offset)}"
        for batch in batches
    ]
    return f"ShareAcknowledge {', '.join(shown)}", {"acknowledged": shown}


def _share_acknowledged(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    codes = [answer.error_code, *(part.error_code for topic in answer.responses for part in topic.partitions)]
    return Error(next((code for code in codes if code), 0)), ("acknowledged", {})


def _topic_of(topic: Any) -> str:
    return f"topic id {encode_uuid(topic.topic_id)[:8]}" if topic.topic_id != ZERO_UUID else f"topic {topic.name}"


def _commit_offsets(request: Any) -> ApiFields:
    offsets = [(_topic_of(topic), part.committed_offset) for topic in request.topics for part in topic.partitions]
    text = ", ".join(f"offset {offset} of {topic}" for topic, offset in offsets)
    return f"TxnOffsetCommit {text}", {"group": request.group_id, "offsets": [list(each) for each in offsets]}


def _offsets_committed(request: Any, answer: Any) -> tuple[Error, ApiFields]:
    codes = [part.error_code for topic in answer.topics for part in topic.partitions]
    return Error(next((code for code in codes if code), 0)), ("held until the transaction ends", {})


_SHOWN: Mapping[int, _Shown] = {
    ApiKey.TXN_OFFSET_COMMIT: _Shown(COORDINATOR, _commit_offsets, _offsets_committed),
    ApiKey.SHARE_FETCH: _Shown(PARTITION, _share_fetch, _shared),
    ApiKey.SHARE_ACKNOWLEDGE: _Shown(PARTITION, _share_acknowledge, _share_acknowledged),
    ApiKey.PRODUCE: _Shown(PARTITION, _produce, _produced),
    ApiKey.FETCH: _Shown(PARTITION, _fetch, _fetched),
    ApiKey.INIT_PRODUCER_ID: _Shown(COORDINATOR, _init, _initialised),
    ApiKey.ADD_PARTITIONS_TO_TXN: _Shown(COORDINATOR, _add_partitions, _added),
    ApiKey.END_TXN: _Shown(COORDINATOR, _end, _ended),
    ApiKey.WRITE_TXN_MARKERS: _Shown(PARTITION, _markers, _marked),
    ApiKey.DESCRIBE_PRODUCERS: _Shown(PARTITION, _describe_producers, _producers),
    ApiKey.DESCRIBE_TRANSACTIONS: _Shown(COORDINATOR, _describe, _described),
    ApiKey.LIST_TRANSACTIONS: _Shown(COORDINATOR, _list, _listed),
}
