# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from oncelog.protocol.struct_fields import Field
from oncelog.protocol.wire import Message


class ApiVersionsRequest(Message):
    API_KEY = 18
    MIN_VERSION = 0
    MAX_VERSION = 5
    FLEXIBLE_FROM = 3
    __slots__ = ("client_software_name", "client_software_version", "cluster_id", "node_id")
    FIELDS = (
        Field("client_software_name", "string", "3+", is_ignorable=True),
        Field("client_software_version", "string", "3+", is_ignorable=True),
        Field("cluster_id", "string", "5+", nullable="5+", default=None, is_ignorable=True),
        Field("node_id", "int32", "5+", default=-1, is_ignorable=True),
    )

    def __init__(
        self,
        client_software_name: str = "",
        client_software_version: str = "",
        cluster_id: str | None = None,
        node_id: int = -1,
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.cluster_id = cluster_id
        self.node_id = node_id
