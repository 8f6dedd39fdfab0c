"""The exceptions of the record format; every function of this package that reads bytes may raise them."""

from __future__ import annotations

from oncelog.errors import OncelogError


class CorruptBatch(OncelogError):
    """Bytes that should be a record batch violate the format, or decompress to more than the caller's limit."""


class UnpacksTooLarge(CorruptBatch):
    """A batch decompresses to more than the caller allows; a producer may retry with smaller ones."""


class OlderFormat(CorruptBatch):
    """A batch in message format 0 or 1, as producers before Apache Kafka 0.11 wrote it. It is intact, but not
    supported.
    """

    def __init__(self, offset: int, magic: int) -> None:
        super().__init__(
            f"the records at offset {offset} have message format {magic}, of producers before Apache Kafka 0.11, which "
            "is not supported; they are intact: copy them to another topic with Apache Kafka's own tools"
        )
