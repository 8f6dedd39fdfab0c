# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

"""One generated module for each message: import the one you need. Here, the versions of each API's messages."""

from typing import Final, NamedTuple


class ApiVersionRange(NamedTuple):
    """The versions that the codec has, those that Kafka calls unstable included; ``flexible_from`` 32767: never."""

    lowest: int
    highest: int
    flexible_from: int
    highest_stable: int


API_VERSIONS: Final[dict[int, ApiVersionRange]] = {
    0: ApiVersionRange(3, 13, 9, 13),  # Produce
    1: ApiVersionRange(4, 18, 12, 18),  # Fetch
    2: ApiVersionRange(1, 11, 6, 11),  # ListOffsets
    3: ApiVersionRange(0, 13, 9, 13),  # Metadata
    8: ApiVersionRange(2, 10, 8, 10),  # OffsetCommit
    9: ApiVersionRange(1, 10, 6, 10),  # OffsetFetch
    10: ApiVersionRange(0, 6, 3, 6),  # FindCoordinator
    11: ApiVersionRange(0, 9, 6, 9),  # JoinGroup
    12: ApiVersionRange(0, 4, 4, 4),  # Heartbeat
    13: ApiVersionRange(0, 5, 4, 5),  # LeaveGroup
    14: ApiVersionRange(0, 5, 4, 5),  # SyncGroup
    15: ApiVersionRange(0, 6, 5, 6),  # DescribeGroups
    16: ApiVersionRange(0, 5, 3, 5),  # ListGroups
    17: ApiVersionRange(0, 1, 32767, 1),  # SaslHandshake
    18: ApiVersionRange(0, 5, 3, 5),  # ApiVersions
    19: ApiVersionRange(2, 7, 5, 7),  # CreateTopics
    20: ApiVersionRange(1, 6, 4, 6),  # DeleteTopics
    21: ApiVersionRange(0, 2, 2, 2),  # DeleteRecords
    22: ApiVersionRange(0, 6, 2, 5),  # InitProducerId
    23: ApiVersionRange(2, 4, 4, 4),  # OffsetForLeaderEpoch
    24: ApiVersionRange(0, 5, 3, 5),  # AddPartitionsToTxn
    25: ApiVersionRange(0, 4, 3, 4),  # AddOffsetsToTxn
    26: ApiVersionRange(0, 5, 3, 5),  # EndTxn
    27: ApiVersionRange(1, 2, 1, 2),  # WriteTxnMarkers
    28: ApiVersionRange(0, 6, 3, 6),  # TxnOffsetCommit
    29: ApiVersionRange(1, 3, 2, 3),  # DescribeAcls
    30: ApiVersionRange(1, 3, 2, 3),  # CreateAcls
    31: ApiVersionRange(1, 3, 2, 3),  # DeleteAcls
    32: ApiVersionRange(1, 4, 4, 4),  # DescribeConfigs
    33: ApiVersionRange(0, 2, 2, 2),  # AlterConfigs
    34: ApiVersionRange(1, 2, 2, 2),  # AlterReplicaLogDirs
    35: ApiVersionRange(1, 5, 2, 5),  # DescribeLogDirs
    36: ApiVersionRange(0, 2, 2, 2),  # SaslAuthenticate
    37: ApiVersionRange(0, 3, 2, 3),  # CreatePartitions
    38: ApiVersionRange(1, 3, 2, 3),  # CreateDelegationToken
    39: ApiVersionRange(1, 2, 2, 2),  # RenewDelegationToken
    40: ApiVersionRange(1, 2, 2, 2),  # ExpireDelegationToken
    41: ApiVersionRange(1, 3, 2, 3),  # DescribeDelegationToken
    42: ApiVersionRange(0, 3, 2, 3),  # DeleteGroups
    43: ApiVersionRange(0, 2, 2, 2),  # ElectLeaders
    44: ApiVersionRange(0, 1, 1, 1),  # IncrementalAlterConfigs
    45: ApiVersionRange(0, 1, 0, 1),  # AlterPartitionReassignments
    46: ApiVersionRange(0, 0, 0, 0),  # ListPartitionReassignments
    47: ApiVersionRange(0, 0, 32767, 0),  # OffsetDelete
    48: ApiVersionRange(0, 1, 1, 1),  # DescribeClientQuotas
    49: ApiVersionRange(0, 1, 1, 1),  # AlterClientQuotas
    50: ApiVersionRange(0, 0, 0, 0),  # DescribeUserScramCredentials
    51: ApiVersionRange(0, 0, 0, 0),  # AlterUserScramCredentials
    55: ApiVersionRange(0, 2, 0, 2),  # DescribeQuorum
    57: ApiVersionRange(0, 2, 0, 2),  # UpdateFeatures
    60: ApiVersionRange(0, 2, 0, 2),  # DescribeCluster
    61: ApiVersionRange(0, 0, 0, 0),  # DescribeProducers
    65: ApiVersionRange(0, 0, 0, 0),  # DescribeTransactions
    66: ApiVersionRange(0, 2, 0, 2),  # ListTransactions
    68: ApiVersionRange(0, 1, 0, 1),  # ConsumerGroupHeartbeat
    69: ApiVersionRange(0, 1, 0, 1),  # ConsumerGroupDescribe
    74: ApiVersionRange(0, 1, 0, 1),  # ListConfigResources
    75: ApiVersionRange(0, 0, 0, 0),  # DescribeTopicPartitions
    76: ApiVersionRange(1, 1, 0, 1),  # ShareGroupHeartbeat
    77: ApiVersionRange(1, 1, 0, 1),  # ShareGroupDescribe
    78: ApiVersionRange(1, 2, 0, 2),  # ShareFetch
    79: ApiVersionRange(1, 2, 0, 2),  # ShareAcknowledge
    90: ApiVersionRange(0, 1, 0, 1),  # DescribeShareGroupOffsets
    91: ApiVersionRange(0, 0, 0, 0),  # AlterShareGroupOffsets
    92: ApiVersionRange(0, 0, 0, 0),  # DeleteShareGroupOffsets
}
