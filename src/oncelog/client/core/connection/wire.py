"""The interface from the client cores to the network, and the APIs and versions they use.

``client.aio.connection.network`` implements :class:`Wire`; simulations implement it with a virtual clock. Answers
arrive as calls on the one thread that runs the core, never from inside ``send``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

from oncelog.client.core.client_errors import error_of
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import TITLES, response_type
from oncelog.protocol.wire import Message
from oncelog.runtime.timers import Timers

NO_LIMIT = 32767


class Api(NamedTuple):
    """An API, and the versions of it that this client speaks."""

    key: ApiKey
    lowest: int
    highest: int

    @property
    def response(self) -> type[Message]:
        """The class of the API's response. It is imported when the first answer arrives, because a producer needs few
        of these classes."""
        return response_type(self.key)

    @property
    def name(self) -> str:
        """The API's name as Kafka writes it, such as ``InitProducerId``."""
        return TITLES[self.key]


PRODUCE = Api(ApiKey.PRODUCE, 3, 12)
"""Produce up to version 12, because version 13 identifies topics by id, which the client does not need."""
FETCH = Api(ApiKey.FETCH, 4, 16)
LIST_OFFSETS = Api(ApiKey.LIST_OFFSETS, 1, 9)
LIST_OFFSETS_BY_MAX_TIMESTAMP = Api(ApiKey.LIST_OFFSETS, 7, 9)
"""ListOffsets for timestamp -3, the record with the greatest timestamp. Before version 7 (KIP-734) brokers treat -3 as
a time and return the first record."""
METADATA = Api(ApiKey.METADATA, 1, 12)
OFFSET_COMMIT = Api(ApiKey.OFFSET_COMMIT, 2, 9)
OFFSET_FETCH = Api(ApiKey.OFFSET_FETCH, 1, 9)
FIND_COORDINATOR = Api(ApiKey.FIND_COORDINATOR, 1, 5)
JOIN_GROUP = Api(ApiKey.JOIN_GROUP, 2, 9)
HEARTBEAT = Api(ApiKey.HEARTBEAT, 0, 4)
LEAVE_GROUP = Api(ApiKey.LEAVE_GROUP, 0, 5)
SYNC_GROUP = Api(ApiKey.SYNC_GROUP, 0, 5)
API_VERSIONS = Api(ApiKey.API_VERSIONS, 0, 3)
INIT_PRODUCER_ID = Api(ApiKey.INIT_PRODUCER_ID, 0, 5)
INIT_TWO_PHASE = Api(ApiKey.INIT_PRODUCER_ID, 6, 6)
"""InitProducerId for two-phase commit (KIP-939). There is no fallback: an older version would abort the prepared
transaction."""
OFFSET_FOR_LEADER_EPOCH = Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 3, 4)
"""OffsetForLeaderEpoch from version 3 on (Apache Kafka 2.3), because for older versions brokers require a permission on
the cluster (KAFKA-8422)."""
ADD_PARTITIONS_TO_TXN = Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 3)
"""AddPartitionsToTxn up to version 3, because only brokers may send versions 4 and 5."""
ADD_OFFSETS_TO_TXN = Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4)
END_TXN = Api(ApiKey.END_TXN, 0, 5)
TXN_OFFSET_COMMIT = Api(ApiKey.TXN_OFFSET_COMMIT, 0, 6)
CONSUMER_GROUP_HEARTBEAT = Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, 1)


class RequestFailure(NamedTuple):
    """The failure of a request without an answer. ``sent`` says whether the broker may have received the request."""

    error: Error
    text: str
    sent: bool


Answer: TypeAlias = Any
"""An instance of the API's response class, or a :class:`RequestFailure`; None if no answer was expected and the request
was sent completely."""
OnAnswer: TypeAlias = Callable[[Answer, int, int], None]
"""Called with the answer, the version in which the request was sent (-1 if it was not sent), and the time in ms."""
Build: TypeAlias = Callable[[int], Message]


def error_in(answer: Answer) -> Error:
    """The error of a whole request, from its failure or from the answer's error code."""
    return answer.error if isinstance(answer, RequestFailure) else error_of(answer.error_code)


class Wire(Protocol):
    """The connections to the cluster's nodes: one to each node, and one more to a coordinator."""

    timers: Timers

    def now_ms(self) -> int:
        """Milliseconds of a monotonic clock; only differences are meaningful."""
        ...

    def ready(self, node: int) -> bool:
        """Whether a request to the node would be sent at once. If not, a connection is opened, and the ``on_change``
        observers are called when it is ready."""
        ...

    def any_node(self) -> int:
        """The least busy connected node, or else a node to which a connection may be tried."""
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
        :param channel: 0 for data; 1 for the coordinator's own connection, which a long Fetch must not delay.
        """
        ...
