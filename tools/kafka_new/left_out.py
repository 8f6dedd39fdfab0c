"""The features of Apache Kafka that oncelog omits on purpose, as README says in "What it is not for".

A name that matches no pattern here counts as a difference. Called by the comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

MESSAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "the broker is one node": (
        *(
            "*RaftVoter*",
            "AllocateProducerIds*",
            "AlterPartitionRequest",
            "AlterPartitionResponse",
            "AssignReplicasToDirs*",
            "*QuorumEpoch*",
        ),
        *("BrokerHeartbeat*", "BrokerRegistration*", "ControllerRegistration*", "Envelope*", "FetchSnapshot*"),
        *("UnregisterBroker*", "UnregisterController*", "VoteRe*", "*ShareGroupState*Re*"),
    ),
    "records of the quorum's log that `promote` does not need": (
        *("*TransactionRecord", "ClearElrRecord", "FenceBrokerRecord", "UnfenceBrokerRecord", "NoOpRecord"),
        *("PartitionChangeRecord", "Register*Record", "Remove*Record", "ZkMigrationStateRecord"),
        *("LeaderChangeMessage", "QuorumStateData"),
    ),
    "the group protocol `streams`": ("StreamsGroup*",),
    "client telemetry": ("GetTelemetrySubscriptions*", "PushTelemetry*"),
    "delegation tokens": ("DelegationTokenRecord", "DefaultPrincipalData"),
    "written by hand, without a table": (
        *("AbortedTxn", "ControlRecordTypeSchema", "EndTxnMarker", "LegacyOffsetCommit*"),
    ),
}
"""Patterns of messages and internal records that are left out, by reason."""
APIS: Final[Mapping[str, tuple[str, ...]]] = {
    "the broker is one node": ("*_RAFT_VOTER", "UNREGISTER_BROKER", "UNREGISTER_CONTROLLER", "*_SHARE_GROUP_STATE*"),
    "the group protocol `streams`": ("STREAMS_GROUP_*",),
}
"""Patterns of advertised APIs that are left out, by reason."""
FEATURES: Final[Mapping[str, tuple[str, ...]]] = {"the broker is one node": ("metadata.version",)}


def reason_for(name: str, reasons: Mapping[str, Iterable[str]]) -> str | None:
    """The reason for which a name is left out; ``None`` if it is not."""
    return next((why for why, patterns in reasons.items() if any(fnmatchcase(name, one) for one in patterns)), None)
