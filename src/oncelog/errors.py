"""The error table of Kafka's protocol: one row for each code, and the exceptions built on it.

Called by every layer. Inside the broker a refusal is a value of :class:`Error`; clients raise
:class:`KafkaError` with the same row. Sources: Kafka's ``Errors`` enum (4.4) for code, name and whether an error is
retriable; KIP-360, KIP-447, KIP-588, KIP-654, KIP-691 and KIP-890 for how producers treat them.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from enum import IntEnum
from typing import ClassVar, Final, Generic, TypeVar, final, overload

T = TypeVar("T")


@final
class Error(IntEnum):
    """A protocol error code under its name in Kafka."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133
    GROUP_DELETION_FAILED = 134
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135
    CONTROLLER_ID_NOT_REGISTERED = 136

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed if it is repeated."""
        return self in _RETRIABLE

    @property
    def refresh_metadata(self) -> bool:
        """Whether the error shows that the sender's metadata is stale."""
        return self in _REFRESH_METADATA


NONE: Final = Error.NONE
"""The member NONE as a constant, because every request compares with it, and before Python 3.12 looking up an enum
member takes as long as several calls."""


_RETRIABLE = frozenset(
    {
        Error.CORRUPT_MESSAGE,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.LEADER_NOT_AVAILABLE,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.REQUEST_TIMED_OUT,
        Error.REPLICA_NOT_AVAILABLE,
        Error.NETWORK_EXCEPTION,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NOT_ENOUGH_REPLICAS,
        Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Error.NOT_CONTROLLER,
        Error.CONCURRENT_TRANSACTIONS,
        Error.KAFKA_STORAGE_ERROR,
        Error.FETCH_SESSION_ID_NOT_FOUND,
        Error.INVALID_FETCH_SESSION_EPOCH,
        Error.LISTENER_NOT_FOUND,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.OFFSET_NOT_AVAILABLE,
        Error.PREFERRED_LEADER_NOT_AVAILABLE,
        Error.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        Error.ELECTION_NOT_NEEDED,
        Error.UNSTABLE_OFFSET_COMMIT,
        Error.THROTTLING_QUOTA_EXCEEDED,
        Error.UNKNOWN_TOPIC_ID,
        Error.INCONSISTENT_TOPIC_ID,
        Error.FETCH_SESSION_TOPIC_ID_ERROR,
        Error.SHARE_SESSION_NOT_FOUND,
        Error.INVALID_SHARE_SESSION_EPOCH,
        Error.SHARE_SESSION_LIMIT_REACHED,
    }
)

_REFRESH_METADATA = frozenset(
    {
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.LEADER_NOT_AVAILABLE,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.REPLICA_NOT_AVAILABLE,
        Error.NETWORK_EXCEPTION,
        Error.KAFKA_STORAGE_ERROR,
        Error.LISTENER_NOT_FOUND,
        Error.FENCED_LEADER_EPOCH,
        Error.PREFERRED_LEADER_NOT_AVAILABLE,
        Error.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        Error.ELECTION_NOT_NEEDED,
        Error.UNKNOWN_TOPIC_ID,
        Error.INCONSISTENT_TOPIC_ID,
    }
)


class OncelogError(Exception):
    """Base of every exception that oncelog raises deliberately; its text is meant for users."""


_NEW_METADATA_ONLY_BY_ROW = frozenset({"ListenerNotFound", "ReplicaNotAvailableError"})
_RETRIABLE_ONLY_BY_ROW = _NEW_METADATA_ONLY_BY_ROW | {
    "ConcurrentTransactions",
    "CorruptRecordException",
    "FetchSessionIdNotFound",
    "InvalidFetchSessionEpoch",
    "KafkaTimeoutError",
}
"""Classes for which aiokafka has ``retriable = False`` although Kafka's table says True."""


class CodeAttribute(Generic[T]):
    """A class attribute that follows from an error code: from the exception's own code, or, on a class, from the
    class's ``default``.

    :param without: names of classes on which the attribute is False, as in aiokafka, whose users read it on classes.
    """

    def __init__(self, of: Callable[[Error], T], without: Set[str] = frozenset()) -> None:
        self._of = of
        self._without = without

    def __get__(self, instance: KafkaError | None, owner: type[KafkaError]) -> T | bool:
        if instance is not None:
            return self._of(instance.error)
        return owner.__name__ not in self._without and self._of(owner.default)


class KafkaError(OncelogError, RuntimeError):
    """A broker refused a request.

    :param given: an :class:`Error` and a message that names the refused thing, the value and the next step. If there is
        only a message, the error is the class's ``default``. The text of the exception is the message and the error's
        name.
    """

    default: ClassVar[Error] = Error.UNKNOWN_SERVER_ERROR
    """The error of an exception that was created with only a message."""

    retriable: bool = CodeAttribute(lambda row: row.retriable, _RETRIABLE_ONLY_BY_ROW)  # type: ignore[assignment]
    """Whether the same request may succeed if it is repeated."""
    invalid_metadata: bool = CodeAttribute(  # type: ignore[assignment]
        lambda row: row.refresh_metadata, _NEW_METADATA_ONLY_BY_ROW
    )
    """Whether the error shows that the sender's metadata is stale."""

    @overload
    def __init__(self, error: Error, message: str = "", /) -> None: ...

    @overload
    def __init__(self, message: str = "", /, *others: object) -> None: ...

    def __init__(self, *given: object) -> None:
        first = given[0] if given else None
        self.error = first if isinstance(first, Error) else self.default
        super().__init__(*(given[1:] if isinstance(first, Error) else given))

    def __str__(self) -> str:
        text = super().__str__()
        if text:
            return f"{text} [{self.error.name}]"
        return type(self).__name__ if self.error is self.default and not self.args else self.error.name


class ConfigError(OncelogError, ValueError):
    """A setting has an unknown name, a value that is not allowed, or contradicts another one."""


class CorruptLogError(OncelogError):
    """A log file violates its format; the text names file and position."""


class StorageError(OncelogError):
    """The disk failed an operation (full, failing, not permitted); the text names file and cause."""


class RefusedForNow(StorageError):
    """The operation was refused and has changed nothing; it will succeed when the missing resource is available."""


class OutOfDescriptors(RefusedForNow):
    """The process or the machine has no file descriptors left. The operation was not done; the disk is fine."""


class NoSpace(RefusedForNow):
    """The disk is full. A failed sync never raises this error, because after such a failure the contents of the disk
    are unknown."""


class InvariantError(OncelogError):
    """An internal invariant is broken: a bug, never the user's fault."""
