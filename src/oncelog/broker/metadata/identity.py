"""Creates topic ids: 16 random bytes, as Kafka's ``Uuid.randomUuid`` does."""

from __future__ import annotations

from oncelog.runtime.ports import Random
from oncelog.types import encode_uuid

ZERO_ID = bytes(16)


def new_topic_id(random: Random) -> bytes:
    """A version 4 UUID (RFC 9562) whose text does not begin with a dash, because command lines would take it for an
    option."""
    while True:
        token = bytearray(random.token(16))
        token[6] = token[6] & 0x0F | 0x40
        token[8] = token[8] & 0x3F | 0x80
        topic_id = bytes(token)
        if not encode_uuid(topic_id).startswith("-"):
            return topic_id
