"""Cluster ids and topic ids: 16 random bytes, written as 22 characters of URL-safe base64 (Kafka's ``Uuid``)."""

from __future__ import annotations

import base64
import binascii

from oncelog.ports import Random

ZERO_ID = bytes(16)
_RESERVED = frozenset({ZERO_ID, bytes(15) + b"\x01"})


def new_topic_id(random: Random) -> bytes:
    """A version 4 UUID (RFC 9562) that is not reserved by Kafka and whose text does not start with a dash."""
    while True:
        token = bytearray(random.token(16))
        token[6] = token[6] & 0x0F | 0x40
        token[8] = token[8] & 0x3F | 0x80
        topic_id = bytes(token)
        if topic_id not in _RESERVED and not uuid_text(topic_id).startswith("-"):
            return topic_id


def uuid_text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """The 16 bytes of Kafka's text form; ``ValueError`` for anything else."""
    try:
        value = base64.b64decode(text.encode("ascii") + b"==", altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(f"{text!r} is not an id: {error}") from error
    if len(value) != 16:
        raise ValueError(f"{text!r} is not an id: it has {len(value)} bytes instead of 16")
    return value
