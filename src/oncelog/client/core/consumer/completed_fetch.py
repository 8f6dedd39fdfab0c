"""Fetched records not yet handed out: responses for one partition each, decoded batch by batch.

Called by the fetcher. If a record cannot be read, or a deserializer refuses it, the error names its partition and
offset, and the position stays at the record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

from oncelog.client.core.client_errors import RecordDeserializationError
from oncelog.client.core.consumer.subscription import PartitionState
from oncelog.client.core.serialization import KEY, VALUE, SerializationContext, takes_context
from oncelog.client.core.structs import Columns, ConsumerRecord, TopicPartition
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.records.batch import CorruptBatch, consumer_records, record_columns

Deserializer = Callable[[bytes], Any]
_new_record = partial(tuple.__new__, ConsumerRecord)


class Chunk(NamedTuple):
    """Batches of one response, as stored in ``data``, each with its position there and its header. Records before
    ``first_offset`` are skipped."""

    data: memoryview
    batches: list[tuple[int, Any]]
    first_offset: int

    def records_count(self) -> int:
        """How many records the batches hold."""
        return sum(header.records_count for _, header in self.batches)


class CompletedFetch:
    """One response for one partition, decoded batch by batch as it is handed out."""

    __slots__ = (
        "batches",
        "buf",
        "decoded",
        "last_epoch",
        "next_offset",
        "partition",
        "records",
        "state",
        "taken",
        "topic_id",
        "version",
    )

    def __init__(
        self,
        partition: TopicPartition,
        state: PartitionState,
        buf: memoryview,
        batches: deque[tuple[int, Any]],
        next_offset: int,
        last_epoch: int,
        topic_id: bytes,
    ) -> None:
        self.partition = partition
        self.state = state
        self.version = state.version
        self.buf = buf
        self.batches = batches
        self.next_offset = next_offset
        self.last_epoch = last_epoch
        """The leader epoch of the last batch in the response, even if that batch is not handed out."""
        self.topic_id = topic_id
        self.records: list[ConsumerRecord[Any, Any]] = []
        self.decoded: tuple[int, Any] | None = None
        """The batch from which ``records`` came: its position and header."""
        self.taken = 0

    def belongs_to(self, state: PartitionState | None) -> bool:
        """Whether the fetch is still valid: the assignment is the same, and there was no seek since."""
        return state is self.state and state.version == self.version

    def finish(self, state: PartitionState) -> None:
        """Move the position to the end of the response, past batches that are not delivered, because everything has
        been handed out."""
        state.position, state.position_epoch = self.next_offset, self.last_epoch
        state.topic_id = self.topic_id

    def next_records(self, decoder: Decoder, state: PartitionState, most: int) -> list[ConsumerRecord[Any, Any]]:
        """The next records, at most ``most`` and of one batch; moves the position past them."""
        while self.taken >= len(self.records):
            if not self.batches:
                return []
            decoder.decode(self, state)
        if self.taken == 0 and len(self.records) <= most:
            records = self.records
            self.taken = len(records)
        else:
            records = self.records[self.taken : self.taken + most]
            self.taken += len(records)
        state.position = records[-1].offset + 1
        return records

    def chunk(self, state: PartitionState) -> Chunk:
        """The rest of the response, as whole batches. If a batch was handed out in part, the rest begins with it, at
        its next record."""
        begun = self.taken < len(self.records)
        first = self.records[self.taken].offset if begun else state.position
        batches = list(self.batches)
        if begun and self.decoded is not None and (not batches or batches[0] is not self.decoded):
            batches.insert(0, self.decoded)
        return Chunk(self.buf, batches, first)


class Decoder:
    """Turns stored batches into the program's records.

    :param decoded: called with a partition and the number of its records that are ready to be handed out.
    """

    def __init__(
        self,
        check_crcs: bool,
        key_deserializer: Deserializer | None,
        value_deserializer: Deserializer | None,
        decoded: Callable[[TopicPartition, int], None],
    ) -> None:
        self._decoded = decoded
        self._check_crcs = check_crcs
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._nulls = False

    def deserialize_nulls(self) -> None:
        """Call the deserializers for null keys and values, too."""
        self._nulls = True

    def decode(self, item: CompletedFetch, state: PartitionState) -> None:
        """Turn the next batch into records, without those before the position."""
        position, header = item.decoded = item.batches[0]
        state.position_epoch = header.partition_leader_epoch
        state.topic_id = item.topic_id
        item.taken = 0
        item.records = []
        try:
            if self._key_deserializer is None and self._value_deserializer is None:
                topic, partition = item.partition
                item.records = consumer_records(
                    item.buf,
                    position,
                    header,
                    ConsumerRecord,
                    topic,
                    partition,
                    first_offset=state.position,
                    check_crc=self._check_crcs,
                )
                item.batches.popleft()
                self._decoded(item.partition, len(item.records))
                return
            decoded = self._columns(item.buf, position, header, state.position)
        except CorruptBatch as corrupt:
            raise self._corrupt(item, state, header, corrupt) from None
        item.records = self._deserialized(item.partition, int(header.timestamp_type), decoded)
        self._decoded(item.partition, len(item.records))
        if len(item.records) == len(decoded.offsets):
            item.batches.popleft()

    def _columns(self, buf: memoryview, position: int, header: Any, first_offset: int) -> Columns:
        found = record_columns(buf, position, header, first_offset=first_offset, check_crc=self._check_crcs)
        return Columns(*found)

    def _corrupt(self, item: CompletedFetch, state: PartitionState, header: Any, corrupt: CorruptBatch) -> KafkaError:
        item.batches.clear()
        # positioned at the batch again, so that the next call raises the error, too, and no record is skipped
        state.seek(state.position)
        state.reported = True
        state.stuck = KafkaError(
            Error.CORRUPT_MESSAGE,
            f"{item.partition} cannot be read from offset {header.base_offset} on: {corrupt}; "
            "seek past the batch to continue",
        )
        return state.stuck

    def _deserialized(
        self, name: TopicPartition, timestamp_type: int, found: Columns
    ) -> list[ConsumerRecord[Any, Any]]:
        """The records with deserialized keys and values, up to the first record that a deserializer refuses."""
        if not found.offsets:
            return []
        topic, partition = name
        keys: Sequence[Any] = found.keys
        values: Sequence[Any] = found.values
        if self._key_deserializer is not None:
            keys = _deserialized(self._key_deserializer, KEY, found.keys, found, name, self._nulls)
        if self._value_deserializer is not None and keys:
            values = _deserialized(self._value_deserializer, VALUE, found.values, found, name, self._nulls)
        columns = zip(
            repeat(topic),
            repeat(partition),
            found.offsets,
            found.timestamps,
            repeat(timestamp_type),
            keys,
            values,
            repeat(None),
            (-1 if key is None else len(key) for key in found.keys),
            (-1 if value is None else len(value) for value in found.values),
            found.headers,
            strict=False,
        )
        return list(map(_new_record, columns))


def _deserialized(
    function: Any, field: str, values: Sequence[Any], found: Columns, name: TopicPartition, nulls: bool
) -> tuple[Any, ...]:
    """The deserialized values up to the first value that ``function`` refuses. Raises RecordDeserializationError if
    ``function`` refuses the first value of all.
    """
    done: list[Any] = []
    with_context = takes_context(function)
    try:
        for value, headers in zip(values, found.headers, strict=False):
            if value is None and not nulls:
                done.append(None)
            elif with_context:
                done.append(function(value, SerializationContext(name.topic, field, headers)))
            else:
                done.append(function(value))
    except Exception as error:
        if not done:
            record = f"the record at offset {found.offsets[0]} of {name}"
            raise RecordDeserializationError(
                Error.INVALID_RECORD,
                f"{record} cannot be deserialized: {error!r}; {_advice(error)}",
            ) from error
    return tuple(done)


def _advice(error: Exception) -> str:
    """The advice in the message about a deserializer's exception: to skip the record only if the record itself is at
    fault."""
    from oncelog.schemas.schema_errors import SchemaError, SchemaMismatch

    is_foreign = isinstance(error, ValueError) and not isinstance(error, OncelogError)
    if is_foreign or (isinstance(error, SchemaError) and not isinstance(error, SchemaMismatch)):
        return "seek past it"
    return "the position stays before it: mend what the error names, and poll again"


__all__ = ["Chunk", "CompletedFetch", "Decoder", "Deserializer"]
