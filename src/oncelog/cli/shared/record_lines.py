"""Formats a record as a line: as plain text, as JSON, or by a format string like kcat's.

Called by ``consume``. Keys and values of the coordinators' topics are decoded, as in ``dump-log``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oncelog.errors import ConfigError
from oncelog.runtime import real_json as json
from oncelog.runtime.shown import NULL, json_bytes, show_bytes, show_time
from oncelog.types import INTERNAL_TOPICS

FIELDS = ("topic", "partition", "offset", "timestamp", "key", "headers")
Line = Callable[[Any], bytes]
"""A function that formats a record of the client or of a log as a line of output."""

_TOKEN = re.compile(r"%(.)|\\(x[0-9a-fA-F]{2}|.)|([^%\\]+)|([%\\]$)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[ntr0\\])")
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_BYTES: dict[str, Callable[[Any], bytes | None]] = {"s": lambda record: record.value, "k": lambda record: record.key}
_PARTS: dict[str, Callable[[Any], bytes]] = {
    "S": lambda record: str(-1 if record.value is None else len(record.value)).encode(),
    "R": lambda record: (-1 if record.value is None else len(record.value)).to_bytes(4, "big", signed=True),
    "K": lambda record: str(-1 if record.key is None else len(record.key)).encode(),
    "t": lambda record: record.topic.encode(),
    "p": lambda record: str(record.partition).encode(),
    "o": lambda record: str(record.offset).encode(),
    "T": lambda record: str(record.timestamp).encode(),
    "%": lambda record: b"%",
}
FORMAT_HELP = (
    "%s value, %S its size, %R its size in four bytes, %k key, %K its size, %t topic, %p partition, %o offset, "
    "%T timestamp, %h headers"
)


def by_format(text: str, null: str | None = None) -> Line:
    """A function that formats a record by a format string: kcat's letters, and \\n, \\t, \\r, \\0, \\xNN.

    :param null: the text for a null key or value; without it, null is an empty text, as with kcat.
    :raises ConfigError: a letter is not known.
    """
    absent = (null or "").encode()
    parts: list[Callable[[Any], bytes]] = []
    for match in _TOKEN.finditer(text):
        letter, escape, plain, dangling = match.groups()
        if letter in _BYTES:
            parts.append(lambda record, of=_BYTES[letter]: absent if (data := of(record)) is None else data)  # type: ignore[misc]
        elif letter == "h":
            parts.append(lambda record: headers_text(record.headers, NULL if null is None else null).encode())
        elif letter in _PARTS:
            parts.append(_PARTS[letter])
        elif dangling is not None or letter is not None:
            raise ConfigError(f"--format {text!r} has {match[0]!r}, which is unknown: it takes {FORMAT_HELP}, %%")
        else:
            fixed = plain.encode() if escape is None else _escaped(escape)
            parts.append(lambda record, fixed=fixed: fixed)  # type: ignore[misc]
    return lambda record: b"".join(part(record) for part in parts)


def unescaped(text: str) -> bytes:
    """The bytes of an option's text, with the escapes of :func:`by_format` resolved, because a shell passes ``'\\t'``
    as two characters."""
    return _ESCAPE.sub(lambda match: _escaped(match[1].decode()), text.encode())


def _escaped(escape: str) -> bytes:
    """The bytes that an escape sequence stands for, given without its backslash."""
    if escape[0] == "x" and len(escape) == 3:
        return bytes([int(escape[1:], 16)])
    return _ESCAPES.get(escape, escape.encode())


def as_json(record: Any) -> bytes:
    """One line of JSON, which ``produce --json-lines`` accepts."""
    key, value = decoded(record.topic, record)
    return dumped(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestamp_type": record.timestamp_type,
            "key": key,
            "value": value,
            "headers": [[name, json_bytes(value)] for name, value in record.headers],
        }
    )


def as_text(fields: tuple[str, ...], key_separator: str | None, null: str = NULL) -> Line:
    """A function that formats a record as text: the fields, the key if a separator is given, and the value.

    :param key_separator: as the option gives it, with escapes.
    :param null: the text for null.
    """
    separator = None if key_separator is None else unescaped(key_separator)

    def line(record: Any) -> bytes:
        key, value = shown(record.topic, record, null)
        before = [key if field == "key" else _field(field, record, null) for field in fields]
        start = "".join(f"{field}\t" for field in before).encode()
        return b"".join((start, b"" if separator is None else key.encode() + separator, value.encode(), b"\n"))

    return line


def _field(field: str, record: Any, null: str) -> str:
    return headers_text(record.headers, null) if field == "headers" else _SHOWN[field](record)


def dumped(fields: Mapping[str, Any]) -> bytes:
    return (json.dumps(fields, ensure_ascii=False) + "\n").encode()


def headers_text(headers: Iterable[tuple[str, bytes | None]], null: str = NULL) -> str:
    return ",".join(f"{name}={show_bytes(value, null)}" for name, value in headers)


def decoded(topic: str, record: Any) -> tuple[Any, Any]:
    """The key and value of a record for JSON; those of internal topics as fields, if they can be decoded."""
    if topic in INTERNAL_TOPICS:
        from oncelog.broker.coordinator.shown_records import decode_internal_record

        fields = decode_internal_record(topic, record)
        if fields is not None:
            return fields
    return json_bytes(record.key), json_bytes(record.value)


def shown(topic: str, record: Any, null: str = NULL) -> tuple[str, str]:
    """The key and value of a record as text."""
    if topic not in INTERNAL_TOPICS:
        return show_bytes(record.key, null), show_bytes(record.value, null)
    key, value = (json.dumps(part, ensure_ascii=False) for part in decoded(topic, record))
    return key, value


_SHOWN: dict[str, Callable[[Any], str]] = {
    "topic": lambda record: record.topic,
    "partition": lambda record: str(record.partition),
    "offset": lambda record: str(record.offset),
    "timestamp": lambda record: show_time(record.timestamp) or "-",
}
