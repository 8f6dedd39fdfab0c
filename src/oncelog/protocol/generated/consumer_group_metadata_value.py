# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class ConsumerGroupMetadataValue(Message):
    API_KEY = 3
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("epoch", "metadata_hash")
    FIELDS = (
        Field("epoch", "int32", "0+"),
        Field("metadata_hash", "int64", "0+", tag=0, tagged="0+"),
    )

    def __init__(
        self,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
