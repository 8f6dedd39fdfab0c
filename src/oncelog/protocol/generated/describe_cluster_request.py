# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class DescribeClusterRequest(Message):
    API_KEY = 60
    MIN_VERSION = 0
    MAX_VERSION = 2
    FLEXIBLE_FROM = 0
    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")
    FIELDS = (
        Field("include_cluster_authorized_operations", "bool", "0+"),
        Field("endpoint_type", "int8", "1+", default=1),
        Field("include_fenced_brokers", "bool", "2+"),
    )

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers
