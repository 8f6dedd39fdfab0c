"""``oncelog produce``: writes lines of standard input as records."""

from __future__ import annotations

import base64
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from oncelog.cli.shared.completers import complete_topics
from oncelog.cli.shared.options import ConnectionOptions, cluster_options, text
from oncelog.cli.shared.output import Advance, cleaning_up, counted, progress, remark, show_json
from oncelog.cli.shared.record_lines import unescaped
from oncelog.cli.shared.registry_option import RegistryAccess, registry, registry_option
from oncelog.errors import ConfigError, OncelogError
from oncelog.runtime import real_json as json
from oncelog.types import NO_TIMESTAMP, partitions_there

if TYPE_CHECKING:
    from oncelog.client.blocking import Producer
    from oncelog.client.core.structs import RecordMetadata
    from oncelog.client.delivery import Delivery

Headers = list[tuple[str, bytes | None]]
Encode = Callable[[Any, str | None], bytes]
LAST_TIMESTAMP_MS = 2**63 - 1
REPORT_EVERY = 1000
"""The number of records between two checks for errors, and between two steps of the progress bar."""


class InputError(OncelogError):
    """A line of the input does not have the format given by the options; the text names the line."""


class ProducedLine(NamedTuple):
    """A record to send."""

    key: bytes | None
    value: bytes | None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: Headers = []  # noqa: RUF012  (never changed)


class Encoders(NamedTuple):
    """The functions that encode JSON keys and values by a schema; None for a part without a schema."""

    key: Encode | None = None
    value: Encode | None = None


AS_THEY_ARE = Encoders()


@dataclass
class SendCounts:
    """Counts the outcomes of the records sent; written on the client's thread, one record at a time."""

    sent: int = 0
    acknowledged: int = 0
    failed: int = 0
    committed: int = 0
    transactions: int = 0
    first_error: BaseException | None = field(default=None)

    def note(self, delivery: Delivery[RecordMetadata]) -> None:
        error = delivery.exception()
        if error is None:
            self.acknowledged += 1
        else:
            self.failed += 1
            self.first_error = self.first_error or error


@click.command("produce")
@click.option("--topic", "-t", required=True, type=text, shell_complete=complete_topics, help="Topic to write to.")
@click.option(
    "--key-separator",
    "-K",
    metavar="TEXT",
    help="Separator of key and value in a line, '\\t' for a tab; without it records have no keys.",
)
@click.option(
    "--null-marker",
    metavar="TEXT",
    help="Keys, values and headers with exactly this text become null; a null value is a tombstone.",
)
@click.option(
    "--json-lines", is_flag=True, help="Each line is a JSON object: value, key, headers, partition, timestamp."
)
@click.option("--header", "-H", "headers", multiple=True, metavar="NAME=VALUE", help="Add this header to every record.")
@click.option("--partition", "-p", type=click.IntRange(min=0), help="Write everything to this partition.")
@click.option("--transactional-id", metavar="ID", type=text, help="Write in transactions: all of the input or nothing.")
@click.option(
    "--transaction-size", type=click.IntRange(min=1), metavar="N", help="Commit every N records instead of at the end."
)
@click.option(
    "--value-schema",
    metavar="SCHEMA",
    help="Values are JSON, encoded by this schema: a file (.avsc, .json, .proto), latest, or SUBJECT:VERSION.",
)
@click.option("--key-schema", metavar="SCHEMA", help="Keys are JSON, encoded by this schema.")
@registry_option
@cluster_options
def command(
    cluster: ConnectionOptions,
    topic: str,
    key_separator: str | None,
    null_marker: str | None,
    json_lines: bool,
    headers: tuple[str, ...],
    partition: int | None,
    transactional_id: str | None,
    transaction_size: int | None,
    value_schema: str | None,
    key_schema: str | None,
    schema_registry: RegistryAccess,
) -> None:
    """Write each line of standard input as a record, and report at the end how many were acknowledged.

    The properties of --config and --set are the producer's (acks, enable.idempotence, compression.type, ...);
    properties that contradict each other are refused before anything is sent.

    Without --null-marker (KIP-810), no value is null: an empty line is an empty value. In --json-lines, null is null.

    \b
    Examples:
      seq 1000 | oncelog produce --topic numbers
      echo 'anna:hello' | oncelog produce --topic greetings --key-separator :
      echo 'anna:NULL' | oncelog produce -t greetings -K : --null-marker NULL
      oncelog produce --topic orders --json-lines --transactional-id load-1 < orders.jsonl
      oncelog produce -t orders --value-schema order.avsc --schema-registry http://127.0.0.1:8081 < values.jsonl
    """
    from oncelog.client.blocking import Producer
    from oncelog.client.core.config import ProducerConfig

    if json_lines and key_separator is not None:
        raise ConfigError("--json-lines and --key-separator exclude each other: a JSON line names its key")
    if key_separator == "":
        raise ConfigError("--key-separator must not be empty")
    if json_lines and null_marker is not None:
        raise ConfigError("--json-lines and --null-marker exclude each other: JSON has a null")
    config = cluster.settings(ProducerConfig, transactional_id=transactional_id)
    if transaction_size is not None and config.transactional_id is None:
        raise ConfigError("--transaction-size needs --transactional-id")
    common = [_header(text, null_marker) for text in headers]
    _check_topic(cluster, topic, partition)
    source = sys.stdin.buffer
    encoders = _encoders(schema_registry, topic, key_schema, value_schema)
    items = _json_items(source, encoders) if json_lines else _line_items(source, key_separator, null_marker, encoders)
    counts = SendCounts()
    try:
        with (
            cleaning_up(),
            Producer(config=config) as producer,
            progress(f"to {topic}", _size(source)) as advance,
        ):
            run = _Run(producer, topic, partition, common, counts, advance)
            if config.transactional_id is None:
                run.send(items)
            else:
                run.send_in_transactions(items, transaction_size)
    except (OncelogError, KeyboardInterrupt, SystemExit):
        _report(cluster, topic, counts, config.transactional_id is not None, failed=True)
        raise
    _report(cluster, topic, counts, config.transactional_id is not None, failed=False)
    if counts.failed:
        raise OncelogError(
            f"{counts.failed} of {counts.sent} records were not acknowledged; the first: {counts.first_error}"
        )


class _Run:
    """Sends the records of one input to one topic, and counts the outcomes."""

    def __init__(
        self,
        producer: Producer,
        topic: str,
        partition: int | None,
        common: Headers,
        counts: SendCounts,
        advance: Advance,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._common = common
        self._counts = counts
        self._advance = advance
        self._bytes = 0

    def send(self, items: Iterable[tuple[int, ProducedLine]]) -> None:
        """Send all records; stops early if one is refused."""
        try:
            for size_bytes, item in items:
                self._send_one(size_bytes, item)
                if self._counts.first_error is not None:
                    break
        finally:
            self._producer.flush()

    def send_in_transactions(self, items: Iterator[tuple[int, ProducedLine]], size: int | None) -> None:
        """Send the records in transactions of ``size`` records, or all in one; an error aborts the open transaction."""
        waiting = next(items, None)
        while waiting is not None:
            count = 0
            with self._producer.transaction():
                while waiting is not None and (size is None or count < size):
                    self._send_one(*waiting)
                    count += 1
                    waiting = self._next(items)
            self._counts.committed += count
            self._counts.transactions += 1

    def _next(self, items: Iterator[tuple[int, ProducedLine]]) -> tuple[int, ProducedLine] | None:
        """The next record of the input and its size. If the input is malformed, the records before are flushed first,
        so that they are in the log when the transaction is aborted."""
        try:
            return next(items, None)
        except InputError:
            self._producer.flush()
            raise

    def _send_one(self, size_bytes: int, item: ProducedLine) -> None:
        counts = self._counts
        partition = item.partition if item.partition is not None else self._partition
        counts.sent += 1
        try:
            delivery = self._producer.send(
                self._topic, item.value, item.key, partition, item.timestamp_ms, [*self._common, *item.headers]
            )
        except OncelogError:
            counts.failed += 1
            raise
        delivery.add_done_callback(counts.note)
        self._bytes += size_bytes
        if counts.sent % REPORT_EVERY == 0:
            self._advance(self._bytes, f"{counts.acknowledged:,} acknowledged")
            self._bytes = 0


def _header(text: str, null_marker: str | None) -> tuple[str, bytes | None]:
    """A header from the option's NAME=VALUE; the value is taken unchanged, with all spaces."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"--header takes NAME=VALUE, not {text!r}; a null is NAME=TEXT with --null-marker TEXT")
    return name, None if value == null_marker else value.encode()


def _report(cluster: ConnectionOptions, topic: str, counts: SendCounts, transactional: bool, failed: bool) -> None:
    """Print how many records are known to be stored; the records of a transaction count when it has committed."""
    stored = counts.committed if transactional else counts.acknowledged
    if cluster.as_json:
        result: dict[str, object] = {
            "topic": topic,
            "sent": counts.sent,
            "acknowledged": stored,
            "failed": counts.failed,
        }
        if transactional:
            result["transactions"] = counts.transactions
        show_json(result)
        return
    text = f"{counted(stored, 'record')} acknowledged in {topic}"
    if transactional:
        text += f", {counted(counts.transactions, 'transaction')} committed"
        if failed and counts.sent > stored:
            text += f", {counted(counts.sent - stored, 'record')} aborted with the last one"
    click.echo(text)


def _check_topic(cluster: ConnectionOptions, topic: str, partition: int | None) -> None:
    """Check that the topic and the partition exist, or that the broker creates the topic."""
    from oncelog.client.blocking import Admin
    from oncelog.client.core.admin.admin_types import ConfigResource, ConfigResourceType
    from oncelog.client.errors import UnknownTopicOrPartitionError

    with Admin(config=cluster.admin_settings()) as admin:
        try:
            described = admin.describe_topics([topic])[0]
        except UnknownTopicOrPartitionError:
            broker = ConfigResource(ConfigResourceType.BROKER, str(admin.describe_cluster().nodes[0].node_id))
            name = "auto.create.topics.enable"
            entry = admin.describe_configs([broker], names=[name])[broker].get(name)
            if entry is not None and entry.value == "true":
                return
            raise OncelogError(
                f"topic {topic!r} does not exist, and the broker does not create topics automatically ({name}=false): "
                f"create it with oncelog topics create {topic}"
            ) from None
    if partition is not None and partition >= len(described.partitions):
        raise OncelogError(
            f"topic {topic!r} has no partition {partition}; {partitions_there(len(described.partitions))}"
        )


def _size(source: BinaryIO) -> int | None:
    """The size of the input in bytes if it is a file, otherwise None."""
    try:
        status = os.fstat(source.fileno())
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _encoders(access: RegistryAccess, topic: str, key_schema: str | None, value_schema: str | None) -> Encoders:
    """The functions that encode keys and values as the schema options say; a schema from a file is registered."""
    if key_schema is None and value_schema is None:
        return AS_THEY_ARE
    asked = registry(access)
    from oncelog.cli.shared.schema_values import encoder

    return Encoders(
        None if key_schema is None else encoder(asked, topic, key_schema, is_key=True),
        None if value_schema is None else encoder(asked, topic, value_schema, is_key=False),
    )


def _line_items(
    source: Iterable[bytes], separator: str | None, null_marker: str | None, encoders: Encoders
) -> Iterator[tuple[int, ProducedLine]]:
    """The records of lines of text, each with the size of its line. A line is split into key and value at a separator,
    in which escapes are allowed."""
    mark = None if separator is None else unescaped(separator)
    null = None if null_marker is None else null_marker.encode()
    for number, line in enumerate(source, start=1):
        text = line.rstrip(b"\n").removesuffix(b"\r")
        if mark is None:
            yield len(line), ProducedLine(None, _line_bytes(text, number, null, encoders.value))
            continue
        key, found, value = text.partition(mark)
        if not found:
            raise InputError(
                f"line {number} of the input has no key separator {separator!r}: write KEY{separator}VALUE"
            )
        parts = _line_bytes(key, number, null, encoders.key), _line_bytes(value, number, null, encoders.value)
        yield len(line), ProducedLine(*parts)


def _line_bytes(text: bytes, number: int, null: bytes | None, encode: Encode | None) -> bytes | None:
    """The bytes of a line's key or value: None for the null marker, the text unchanged, or JSON encoded by its
    schema."""
    if text == null:
        return None
    if encode is None:
        return text
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number} of the input is not JSON, as a schema needs it: {error}") from None
    return _json_bytes(given, number, encode)


def _json_items(source: Iterable[bytes], encoders: Encoders) -> Iterator[tuple[int, ProducedLine]]:
    plain = {part for part, encode in (("key", encoders.key), ("value", encoders.value)) if encode is None}
    for number, line in enumerate(source, start=1):
        if line.strip():
            item = json_item(line, number, encoders)
            decoded = plain and b'_schema"' in line and {part for part in plain if f"{part}_schema" in json.loads(line)}
            for part in sorted(decoded or ()):
                plain.remove(part)
                remark(
                    f"line {number} of the input has a {part} that was decoded by a schema; it is written as JSON, "
                    f"which readers of that schema cannot read: --{part}-schema SUBJECT:VERSION encodes it again"
                )
            yield len(line), item


_MEMBERS = frozenset({"key", "value", "headers", "partition", "timestamp"})
_ONLY_OF_CONSUME = frozenset(
    {"topic", "offset", "timestamp_type", "key_schema", "value_schema", "key_problem", "value_problem"}
)
"""Members that ``oncelog consume --json`` writes and that ``oncelog produce --json-lines`` ignores."""


def json_item(line: bytes, number: int, encoders: Encoders = AS_THEY_ARE) -> ProducedLine:
    """The record in one line of JSON, in the format of ``oncelog consume --json``.

    :raises InputError: the line is not JSON, not an object, or has a member that is unknown or of the wrong type.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number} of the input is not JSON: {error}") from None
    if not isinstance(fields, dict) or "value" not in fields:
        raise InputError(f'line {number} of the input is not a JSON object with a "value"')
    unknown = sorted(fields.keys() - _MEMBERS - _ONLY_OF_CONSUME)
    if unknown:
        raise InputError(
            f"line {number} of the input has the member {unknown[0]!r}; known are {', '.join(sorted(_MEMBERS))}"
        )
    partition, timestamp = fields.get("partition"), fields.get("timestamp")
    for name, member in (("partition", partition), ("timestamp", timestamp)):
        if member is not None and (not isinstance(member, int) or isinstance(member, bool)):
            raise InputError(f"line {number} of the input: {name} must be a number, not {member!r}")
    if timestamp is not None and not NO_TIMESTAMP <= timestamp <= LAST_TIMESTAMP_MS:
        raise InputError(
            f"line {number} of the input: timestamp must be ms since 1970, up to {LAST_TIMESTAMP_MS}, or "
            f"{NO_TIMESTAMP} for none, not {timestamp}"
        )
    try:
        return ProducedLine(
            _json_bytes(fields.get("key"), number, encoders.key, _message_name(fields, "key")),
            _json_bytes(fields["value"], number, encoders.value, _message_name(fields, "value")),
            partition,
            timestamp,
            _without_schemas(_json_headers(fields.get("headers"), number), fields, encoders),
        )
    except UnicodeEncodeError:
        raise InputError(
            f"line {number} of the input has half of a surrogate pair, which is not a character; "
            'write bytes that are not text as {"base64": ...}'
        ) from None


def _without_schemas(headers: Headers, fields: dict[str, Any], encoders: Encoders) -> Headers:
    """Remove the headers that name the schema of a key or value, if it is encoded here or was decoded by ``consume``:
    they do not describe the new bytes."""
    new_key = encoders.key is not None or "key_schema" in fields
    new_value = encoders.value is not None or "value_schema" in fields
    if not (new_key or new_value):
        return headers
    # imported here, because the schemas package takes long to import
    from oncelog.schemas.framing import KEY_HEADER, VALUE_HEADER

    names = [KEY_HEADER] * new_key + [VALUE_HEADER] * new_value
    return [pair for pair in headers if pair[0] not in names]


def _json_headers(given: Any, number: int) -> Headers:
    """The headers of a record in JSON: an object, or a list of pairs, because a name may occur twice."""
    pairs = list(given.items()) if isinstance(given, dict) else given or []
    if not isinstance(pairs, list) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        raise InputError(f"line {number} of the input: headers must be an object, or a list of [name, value]")
    headers = [(str(name), _json_bytes(value, number)) for name, value in pairs]
    for name, _ in headers:
        name.encode()
    return headers


def _message_name(fields: dict[str, Any], part: str) -> str | None:
    """The name of the Protobuf message of a key or value, as ``consume --json`` writes it; None if there is none."""
    schema = fields.get(f"{part}_schema")
    if not schema:
        return None
    from oncelog.schemas.structs import PROTOBUF

    name = schema.get("name") if isinstance(schema, dict) and schema.get("type", PROTOBUF) == PROTOBUF else None
    return name if isinstance(name, str) else None


def _json_bytes(given: Any, number: int, encode: Encode | None = None, message: str | None = None) -> bytes | None:
    """The bytes of a JSON value: encoded by its schema, if there is one; otherwise a string as UTF-8, ``{"base64":
    ...}`` as the bytes that it encodes, anything else as compact JSON. Null stays null."""
    if given is None:
        return None
    if encode is not None:
        try:
            return encode(given, message)
        except OncelogError as error:
            raise InputError(f"line {number} of the input: {error}") from error
    if isinstance(given, str):
        return given.encode()
    if isinstance(given, dict) and given.keys() == {"base64"}:
        try:
            return base64.b64decode(given["base64"], validate=True)
        except (ValueError, TypeError):
            raise InputError(f"line {number} of the input: base64 does not hold base64") from None
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()
