"""The interface from the client cores to the network, and the APIs and versions they use.

``client.aio.network`` implements :class:`Wire`; simulations implement it with a virtual clock. Answers arrive as calls
on the one thread that runs the core, never from inside ``send``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from oncelog.errors import Error
from oncelog.protocol.generated.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from oncelog.protocol.generated.add_offsets_to_txn_response import AddOffsetsToTxnResponse
from oncelog.protocol.generated.add_partitions_to_txn_request import AddPartitionsToTxnRequest
from oncelog.protocol.generated.add_partitions_to_txn_response import AddPartitionsToTxnResponse
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.generated.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from oncelog.protocol.generated.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.end_txn_response import EndTxnResponse
from oncelog.protocol.generated.fetch_request import FetchRequest
from oncelog.protocol.generated.fetch_response import FetchResponse
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.find_coordinator_response import FindCoordinatorResponse
from oncelog.protocol.generated.heartbeat_request import HeartbeatRequest
from oncelog.protocol.generated.heartbeat_response import HeartbeatResponse
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.init_producer_id_response import InitProducerIdResponse
from oncelog.protocol.generated.join_group_request import JoinGroupRequest
from oncelog.protocol.generated.join_group_response import JoinGroupResponse
from oncelog.protocol.generated.leave_group_request import LeaveGroupRequest
from oncelog.protocol.generated.leave_group_response import LeaveGroupResponse
from oncelog.protocol.generated.list_offsets_request import ListOffsetsRequest
from oncelog.protocol.generated.list_offsets_response import ListOffsetsResponse
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.metadata_response import MetadataResponse
from oncelog.protocol.generated.offset_commit_request import OffsetCommitRequest
from oncelog.protocol.generated.offset_commit_response import OffsetCommitResponse
from oncelog.protocol.generated.offset_fetch_request import OffsetFetchRequest
from oncelog.protocol.generated.offset_fetch_response import OffsetFetchResponse
from oncelog.protocol.generated.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from oncelog.protocol.generated.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse
from oncelog.protocol.generated.produce_request import ProduceRequest
from oncelog.protocol.generated.produce_response import ProduceResponse
from oncelog.protocol.generated.sync_group_request import SyncGroupRequest
from oncelog.protocol.generated.sync_group_response import SyncGroupResponse
from oncelog.protocol.generated.txn_offset_commit_request import TxnOffsetCommitRequest
from oncelog.protocol.generated.txn_offset_commit_response import TxnOffsetCommitResponse
from oncelog.protocol.wire import Message
from oncelog.timers import Timers

NO_LIMIT = 32767


class Api(NamedTuple):
    """A request, its response, and the versions of it that this client speaks."""

    request: type[Message]
    response: type[Message]
    lowest: int
    highest: int

    @property
    def key(self) -> int:
        return self.request.API_KEY

    @property
    def name(self) -> str:
        return self.request.__name__.removesuffix("Request")


PRODUCE = Api(ProduceRequest, ProduceResponse, 3, 12)
"""Version 13 identifies topics by id, which nothing here needs."""
FETCH = Api(FetchRequest, FetchResponse, 4, 16)
LIST_OFFSETS = Api(ListOffsetsRequest, ListOffsetsResponse, 1, 9)
METADATA = Api(MetadataRequest, MetadataResponse, 1, 12)
OFFSET_COMMIT = Api(OffsetCommitRequest, OffsetCommitResponse, 2, 9)
OFFSET_FETCH = Api(OffsetFetchRequest, OffsetFetchResponse, 1, 9)
FIND_COORDINATOR = Api(FindCoordinatorRequest, FindCoordinatorResponse, 1, 5)
JOIN_GROUP = Api(JoinGroupRequest, JoinGroupResponse, 2, 9)
HEARTBEAT = Api(HeartbeatRequest, HeartbeatResponse, 0, 4)
LEAVE_GROUP = Api(LeaveGroupRequest, LeaveGroupResponse, 0, 5)
SYNC_GROUP = Api(SyncGroupRequest, SyncGroupResponse, 0, 5)
API_VERSIONS = Api(ApiVersionsRequest, ApiVersionsResponse, 0, 3)
INIT_PRODUCER_ID = Api(InitProducerIdRequest, InitProducerIdResponse, 0, 5)
INIT_TWO_PHASE = Api(InitProducerIdRequest, InitProducerIdResponse, 6, 6)
"""For two-phase commit (KIP-939). There is no fallback: an older version would abort the prepared transaction."""
OFFSET_FOR_LEADER_EPOCH = Api(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, 3, 4)
"""Before version 3 (Apache Kafka 2.3) brokers require a permission on the cluster (KAFKA-8422)."""
ADD_PARTITIONS_TO_TXN = Api(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, 0, 3)
"""Versions 4 and 5 are for brokers."""
ADD_OFFSETS_TO_TXN = Api(AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, 0, 4)
END_TXN = Api(EndTxnRequest, EndTxnResponse, 0, 5)
TXN_OFFSET_COMMIT = Api(TxnOffsetCommitRequest, TxnOffsetCommitResponse, 0, 5)
CONSUMER_GROUP_HEARTBEAT = Api(ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, 1, 1)


class Failure(NamedTuple):
    """A request got no answer. ``sent`` says whether the broker may have seen it."""

    error: Error
    text: str
    sent: bool


Answer: TypeAlias = Any
"""The API's response class, or a :class:`Failure`; None if no answer was expected and the request was sent
completely."""
OnAnswer: TypeAlias = Callable[[Answer, int, int], None]
"""Called with the answer, the version in which the request was sent (-1 if it was not), and now_ms."""
Build: TypeAlias = Callable[[int], Message]


class Wire(Protocol):
    """Connections to the cluster's nodes, one each (and one more for coordinators)."""

    timers: Timers

    def now_ms(self) -> int:
        """Milliseconds of a monotonic clock; only differences have a meaning."""
        ...

    def ready(self, node: int) -> bool:
        """Whether a request to the node would be sent at once; if not, a connection is opened, and ``on_change``
        observers are called when it is ready."""
        ...

    def any_node(self) -> int:
        """The least busy connected node, or one that may be tried."""
        ...

    def learn(self, node: int, host: str, port: int) -> None:
        """The address of a node."""
        ...

    def version(self, node: int, api: Api, highest: int = NO_LIMIT) -> int | None:
        """The version both sides speak, at most ``highest``; None without a connection or a common version."""
        ...

    def transaction_version(self) -> int:
        """Finalized level of the feature ``transaction.version`` (KIP-890); 0 while unknown."""
        ...

    def send(
        self,
        node: int,
        api: Api,
        message: Message | Build,
        on_answer: OnAnswer,
        *,
        timeout_ms: int | None = None,
        highest: int = NO_LIMIT,
        expect_answer: bool = True,
        channel: int = 0,
    ) -> None:
        """Send, or queue until the connection is there.

        :param message: the message, or a function that builds it for the negotiated version.
        :param timeout_ms: None means ``request.timeout.ms``; when it expires the connection is given up.
        :param channel: 0 for data; 1 for the coordinator's own connection, which a long Fetch must not hold up.
        """
        ...
