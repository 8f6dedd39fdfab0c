"""A request of every API that checks rights, on resources with fixed names: what the matrix of rights sends."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple

from oncelog.apps.conformance.raw.batches import batch
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.wire import Message

TOPIC, OTHER, GROUP, TXN_ID = "seen", "hidden", "group", "txn"
REPLICA = 7
FIRST_FETCH_BY_ID, FIRST_REPLICA_STATE = 13, 15


class Ask(NamedTuple):
    """A request in one version; its build receives the id of ``TOPIC``."""

    name: str
    version: int
    build: Callable[[bytes], Message]


def _of(api: ApiKey) -> Any:
    module = import_module(f"oncelog.protocol.generated.{api.name.lower()}_request")
    return SimpleNamespace(**vars(module))


P, F, L, M = (_of(key) for key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA))
OC, OF, FC = _of(ApiKey.OFFSET_COMMIT), _of(ApiKey.OFFSET_FETCH), _of(ApiKey.FIND_COORDINATOR)
JG, HB, LG, SG = (_of(key) for key in (ApiKey.JOIN_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.SYNC_GROUP))
DG, LIST, DELG = _of(ApiKey.DESCRIBE_GROUPS), _of(ApiKey.LIST_GROUPS), _of(ApiKey.DELETE_GROUPS)
CT, DT, DR, CP = (
    _of(key) for key in (ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.DELETE_RECORDS, ApiKey.CREATE_PARTITIONS)
)
IP, AP, AO, ET = (
    _of(key)
    for key in (ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN)
)
TO, WM, OE = _of(ApiKey.TXN_OFFSET_COMMIT), _of(ApiKey.WRITE_TXN_MARKERS), _of(ApiKey.OFFSET_FOR_LEADER_EPOCH)
DA, CA, XA = _of(ApiKey.DESCRIBE_ACLS), _of(ApiKey.CREATE_ACLS), _of(ApiKey.DELETE_ACLS)
DC, AC, IC = _of(ApiKey.DESCRIBE_CONFIGS), _of(ApiKey.ALTER_CONFIGS), _of(ApiKey.INCREMENTAL_ALTER_CONFIGS)
RD, LD, EL = _of(ApiKey.ALTER_REPLICA_LOG_DIRS), _of(ApiKey.DESCRIBE_LOG_DIRS), _of(ApiKey.ELECT_LEADERS)
RA, LR = _of(ApiKey.ALTER_PARTITION_REASSIGNMENTS), _of(ApiKey.LIST_PARTITION_REASSIGNMENTS)
OD, DQ, AQ = _of(ApiKey.OFFSET_DELETE), _of(ApiKey.DESCRIBE_CLIENT_QUOTAS), _of(ApiKey.ALTER_CLIENT_QUOTAS)
DS, AS = _of(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS), _of(ApiKey.ALTER_USER_SCRAM_CREDENTIALS)
QU, UF, CL = _of(ApiKey.DESCRIBE_QUORUM), _of(ApiKey.UPDATE_FEATURES), _of(ApiKey.DESCRIBE_CLUSTER)
DP, DX, LX = _of(ApiKey.DESCRIBE_PRODUCERS), _of(ApiKey.DESCRIBE_TRANSACTIONS), _of(ApiKey.LIST_TRANSACTIONS)
CH, CD = _of(ApiKey.CONSUMER_GROUP_HEARTBEAT), _of(ApiKey.CONSUMER_GROUP_DESCRIBE)
NT, ST = _of(ApiKey.CREATE_DELEGATION_TOKEN), _of(ApiKey.DESCRIBE_DELEGATION_TOKEN)
RT, XT = _of(ApiKey.RENEW_DELEGATION_TOKEN), _of(ApiKey.EXPIRE_DELEGATION_TOKEN)
LC, TP = _of(ApiKey.LIST_CONFIG_RESOURCES), _of(ApiKey.DESCRIBE_TOPIC_PARTITIONS)

PAIR = (TOPIC, OTHER)
RESOURCES = ((2, TOPIC), (2, OTHER), (4, "1"), (8, "1"), (16, "metrics"), (32, GROUP))
ALTERABLE = ((2, TOPIC), (2, OTHER), (4, "1"), (16, "metrics"), (32, GROUP))


def _produce(topic_id: bytes, version: int, txn_id: str | None = None) -> Message:
    records = batch(b"v", pid=7, epoch=0, sequence=0, attributes=0x10) if txn_id else batch(b"v")
    topics = [P.TopicProduceData(name, b"\0" * 16, [P.PartitionProduceData(0, records)]) for name in PAIR]
    request: Message = P.ProduceRequest(txn_id, -1, 5000, topics)
    return request


def _fetch_by_id(topic_id: bytes) -> Message:
    topic = F.FetchTopic("", topic_id, [F.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)])
    request: Message = F.FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic], session_epoch=-1)
    return request


def _fetch(topic_id: bytes) -> Message:
    topics = [
        F.FetchTopic(name, partitions=[F.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)])
        for name in PAIR
    ]
    request: Message = F.FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics, session_epoch=-1)
    return request


def _fetch_of_replica(topic_id: bytes, version: int) -> Message:
    """By a node that no partition has as a replica."""
    request: Any = _fetch_by_id(topic_id) if version >= FIRST_FETCH_BY_ID else _fetch(topic_id)
    if version >= FIRST_FETCH_BY_ID:
        request.topics += [F.FetchTopic("", b"unknown-topic-id", request.topics[0].partitions)]
    else:
        request.topics[1].partitions[0].current_leader_epoch = 9
        request.topics += [F.FetchTopic("absent", partitions=request.topics[0].partitions)]
    if version >= FIRST_REPLICA_STATE:
        request.replica_state = F.ReplicaState(REPLICA, -1)
    else:
        request.replica_id = REPLICA
    asked: Message = request
    return asked


def _create_topic(topic_id: bytes) -> Message:
    topics = [CT.CreatableTopic(f"new-{name}", 1, 1) for name in PAIR]
    request: Message = CT.CreateTopicsRequest(topics, 5000, True)
    return request


def _token(*renewers: Any, owner: str | None = None) -> Message:
    request = NT.CreateDelegationTokenRequest(renewers=list(renewers), max_lifetime_ms=1000)
    if owner is not None:
        request.owner_principal_type, request.owner_principal_name = "User", owner
    asked: Message = request
    return asked


def _metadata(version: int) -> Callable[[bytes], Message]:
    def build(topic_id: bytes) -> Message:
        topics = [M.MetadataRequestTopic(name=name) for name in (*PAIR, "absent")]
        request: Message = M.MetadataRequest(topics, False, 8 <= version <= 10, version >= 8)
        return request

    return build


ACL_FIELDS = (2, "x", 3, "User:z", "*", 3, 3)
ASKS = (
    Ask("Produce", 11, lambda i: _produce(i, 11)),
    Ask("Produce of a transaction", 11, lambda i: _produce(i, 11, TXN_ID)),
    Ask("Fetch", 12, _fetch),
    Ask("Fetch by id", 13, _fetch_by_id),
    Ask("Fetch of a replica", 12, lambda i: _fetch_of_replica(i, 12)),
    Ask("Fetch of a replica by id", 14, lambda i: _fetch_of_replica(i, 14)),
    Ask("Fetch of a replica 17", 17, lambda i: _fetch_of_replica(i, 17)),
    Ask(
        "ListOffsets of a replica",
        7,
        lambda _: L.ListOffsetsRequest(
            REPLICA, 0, [L.ListOffsetsTopic(name, [L.ListOffsetsPartition(0, -1, -1)]) for name in PAIR]
        ),
    ),
    Ask(
        "OffsetForLeaderEpoch of a replica",
        4,
        lambda _: OE.OffsetForLeaderEpochRequest(
            REPLICA, [OE.OffsetForLeaderTopic(name, [OE.OffsetForLeaderPartition(0, -1, 0)]) for name in PAIR]
        ),
    ),
    Ask(
        "ListOffsets",
        7,
        lambda _: L.ListOffsetsRequest(
            -1, 0, [L.ListOffsetsTopic(name, [L.ListOffsetsPartition(0, -1, -1)]) for name in PAIR]
        ),
    ),
    Ask("Metadata", 9, _metadata(9)),
    Ask("Metadata 12", 12, _metadata(12)),
    Ask("Metadata of all", 10, lambda _: M.MetadataRequest(None, True, True, True)),
    Ask("Metadata that creates", 9, lambda _: M.MetadataRequest([M.MetadataRequestTopic(name="auto")], True)),
    Ask("Metadata by id", 12, lambda i: M.MetadataRequest([M.MetadataRequestTopic(topic_id=i, name=None)], False)),
    Ask(
        "OffsetCommit",
        8,
        lambda _: OC.OffsetCommitRequest(
            GROUP,
            topics=[
                OC.OffsetCommitRequestTopic(name, partitions=[OC.OffsetCommitRequestPartition(0, 0, -1, "")])
                for name in (*PAIR, "absent")
            ],
        ),
    ),
    Ask(
        "OffsetFetch",
        8,
        lambda _: OF.OffsetFetchRequest(
            groups=[
                OF.OffsetFetchRequestGroup(
                    GROUP, topics=[OF.OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in PAIR]
                )
            ]
        ),
    ),
    Ask(
        "OffsetFetch by id",
        10,
        lambda i: OF.OffsetFetchRequest(
            groups=[
                OF.OffsetFetchRequestGroup(
                    GROUP,
                    topics=[
                        OF.OffsetFetchRequestTopics("", topic_id, partition_indexes=[0, 1])
                        for topic_id in (i, b"unknown-topic-id")
                    ],
                )
            ]
        ),
    ),
    Ask(
        "OffsetFetch of all by id",
        10,
        lambda _: OF.OffsetFetchRequest(groups=[OF.OffsetFetchRequestGroup(GROUP, topics=None)]),
    ),
    Ask(
        "OffsetCommit by id",
        10,
        lambda i: OC.OffsetCommitRequest(
            GROUP,
            topics=[
                OC.OffsetCommitRequestTopic("", topic_id, [OC.OffsetCommitRequestPartition(0, 0, -1, "")])
                for topic_id in (i, b"unknown-topic-id")
            ],
        ),
    ),
    Ask(
        "OffsetFetch of all",
        8,
        lambda _: OF.OffsetFetchRequest(groups=[OF.OffsetFetchRequestGroup(GROUP, topics=None)]),
    ),
    Ask(
        "OffsetFetch 5",
        5,
        lambda _: OF.OffsetFetchRequest(GROUP, [OF.OffsetFetchRequestTopic(name, [0]) for name in PAIR]),
    ),
    Ask("FindCoordinator of a group", 4, lambda _: FC.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])),
    Ask("FindCoordinator of an id", 4, lambda _: FC.FindCoordinatorRequest(key_type=1, coordinator_keys=[TXN_ID])),
    Ask("FindCoordinator 3", 3, lambda _: FC.FindCoordinatorRequest(GROUP, 0)),
    Ask("JoinGroup", 7, lambda _: JG.JoinGroupRequest(GROUP, 10000, 10000, "x", None, "consumer", [])),
    Ask("Heartbeat", 4, lambda _: HB.HeartbeatRequest(GROUP, 1, "nobody")),
    Ask("LeaveGroup", 4, lambda _: LG.LeaveGroupRequest(GROUP, members=[LG.MemberIdentity("nobody")])),
    Ask("SyncGroup", 5, lambda _: SG.SyncGroupRequest(GROUP, 1, "nobody", None, "consumer", "range")),
    Ask("DescribeGroups", 5, lambda _: DG.DescribeGroupsRequest([GROUP, "other"], True)),
    Ask("ListGroups", 4, lambda _: LIST.ListGroupsRequest()),
    Ask("DeleteGroups", 2, lambda _: DELG.DeleteGroupsRequest(["no-group"])),
    Ask("CreateTopics", 7, _create_topic),
    Ask("DeleteTopics", 6, lambda _: DT.DeleteTopicsRequest([DT.DeleteTopicState(name="absent")], timeout_ms=5000)),
    Ask("DeleteTopics 5", 5, lambda _: DT.DeleteTopicsRequest(topic_names=["absent"], timeout_ms=5000)),
    Ask(
        "DeleteRecords",
        2,
        lambda _: DR.DeleteRecordsRequest(
            [DR.DeleteRecordsTopic(name, [DR.DeleteRecordsPartition(0, 0)]) for name in PAIR], 5000
        ),
    ),
    Ask(
        "CreatePartitions",
        3,
        lambda _: CP.CreatePartitionsRequest([CP.CreatePartitionsTopic(name, 2, None) for name in PAIR], 5000, True),
    ),
    Ask("InitProducerId", 4, lambda _: IP.InitProducerIdRequest(None, 60000)),
    Ask("InitProducerId of an id", 4, lambda _: IP.InitProducerIdRequest(TXN_ID, 60000)),
    Ask(
        "AddPartitionsToTxn",
        3,
        lambda _: AP.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TXN_ID,
            v3_and_below_producer_id=99,
            v3_and_below_topics=[
                AP.AddPartitionsToTxnTopic(name, [0]) for name in (*PAIR, "absent", "__consumer_offsets")
            ],
        ),
    ),
    Ask(
        "AddPartitionsToTxn 4",
        4,
        lambda _: AP.AddPartitionsToTxnRequest(
            [AP.AddPartitionsToTxnTransaction(TXN_ID, 99, 0, True, [AP.AddPartitionsToTxnTopic(TOPIC, [0])])]
        ),
    ),
    Ask("AddOffsetsToTxn", 3, lambda _: AO.AddOffsetsToTxnRequest(TXN_ID, 99, 0, GROUP)),
    Ask("EndTxn", 3, lambda _: ET.EndTxnRequest(TXN_ID, 99, 0, True)),
    Ask(
        "TxnOffsetCommit",
        3,
        lambda _: TO.TxnOffsetCommitRequest(
            TXN_ID,
            GROUP,
            99,
            0,
            topics=[
                TO.TxnOffsetCommitRequestTopic(name, partitions=[TO.TxnOffsetCommitRequestPartition(0, 0)])
                for name in (*PAIR, "absent")
            ],
        ),
    ),
    Ask(
        "WriteTxnMarkers",
        1,
        lambda _: WM.WriteTxnMarkersRequest(
            [WM.WritableTxnMarker(99, 0, True, [WM.WritableTxnMarkerTopic("absent", [0])], 0)]
        ),
    ),
    Ask(
        "OffsetForLeaderEpoch",
        4,
        lambda _: OE.OffsetForLeaderEpochRequest(
            -1, [OE.OffsetForLeaderTopic(name, [OE.OffsetForLeaderPartition(0, -1, 0)]) for name in PAIR]
        ),
    ),
    Ask("DescribeAcls", 3, lambda _: DA.DescribeAclsRequest(2, None, 1, None, None, 1, 1)),
    Ask("CreateAcls", 3, lambda _: CA.CreateAclsRequest([CA.AclCreation(*ACL_FIELDS)])),
    Ask("DeleteAcls", 3, lambda _: XA.DeleteAclsRequest([XA.DeleteAclsFilter(*ACL_FIELDS)])),
    Ask(
        "DescribeConfigs",
        4,
        lambda _: DC.DescribeConfigsRequest(
            [DC.DescribeConfigsResource(kind, name, ["retention.ms"]) for kind, name in RESOURCES]
        ),
    ),
    Ask(
        "AlterConfigs",
        2,
        lambda _: AC.AlterConfigsRequest([AC.AlterConfigsResource(kind, name, []) for kind, name in ALTERABLE], True),
    ),
    Ask(
        "IncrementalAlterConfigs",
        1,
        lambda _: IC.IncrementalAlterConfigsRequest(
            [IC.AlterConfigsResource(kind, name, []) for kind, name in ALTERABLE], True
        ),
    ),
    Ask(
        "AlterReplicaLogDirs",
        2,
        lambda _: RD.AlterReplicaLogDirsRequest(
            [RD.AlterReplicaLogDir("/no", [RD.AlterReplicaLogDirTopic(TOPIC, [0])])]
        ),
    ),
    Ask("DescribeLogDirs", 4, lambda _: LD.DescribeLogDirsRequest([LD.DescribableLogDirTopic(TOPIC, [0])])),
    Ask("ElectLeaders", 2, lambda _: EL.ElectLeadersRequest(0, [EL.TopicPartitions("absent", [0])], 5000)),
    Ask(
        "AlterPartitionReassignments",
        0,
        lambda _: RA.AlterPartitionReassignmentsRequest(
            5000, topics=[RA.ReassignableTopic("absent", [RA.ReassignablePartition(0, None)])]
        ),
    ),
    Ask("ListPartitionReassignments", 0, lambda _: LR.ListPartitionReassignmentsRequest(5000, None)),
    Ask(
        "OffsetDelete",
        0,
        lambda _: OD.OffsetDeleteRequest(
            GROUP,
            [OD.OffsetDeleteRequestTopic(name, [OD.OffsetDeleteRequestPartition(0)]) for name in (*PAIR, "absent")],
        ),
    ),
    Ask("DescribeClientQuotas", 1, lambda _: DQ.DescribeClientQuotasRequest([], False)),
    Ask(
        "AlterClientQuotas",
        1,
        lambda _: AQ.AlterClientQuotasRequest(
            [AQ.EntryData([AQ.EntityData("user", "z")], [AQ.OpData("x", 1.0, False)])], True
        ),
    ),
    Ask("DescribeUserScramCredentials", 0, lambda _: DS.DescribeUserScramCredentialsRequest([DS.UserName("z")])),
    Ask(
        "AlterUserScramCredentials",
        0,
        lambda _: AS.AlterUserScramCredentialsRequest([AS.ScramCredentialDeletion("z", 1)], []),
    ),
    Ask(
        "DescribeQuorum",
        1,
        lambda _: QU.DescribeQuorumRequest([QU.TopicData("__cluster_metadata", [QU.PartitionData(0)])]),
    ),
    Ask("UpdateFeatures", 1, lambda _: UF.UpdateFeaturesRequest(5000, [], True)),
    Ask("DescribeCluster", 1, lambda _: CL.DescribeClusterRequest(True)),
    Ask("DescribeProducers", 0, lambda _: DP.DescribeProducersRequest([DP.TopicRequest(name, [0]) for name in PAIR])),
    Ask("DescribeTransactions", 0, lambda _: DX.DescribeTransactionsRequest(["no-such-id"])),
    Ask("ListTransactions", 1, lambda _: LX.ListTransactionsRequest()),
    Ask(
        "ConsumerGroupHeartbeat",
        0,
        lambda _: CH.ConsumerGroupHeartbeatRequest("no-group", "nobody", 5, None, None, -1, [TOPIC, OTHER]),
    ),
    Ask("ConsumerGroupDescribe", 0, lambda _: CD.ConsumerGroupDescribeRequest([GROUP, "other"], True)),
    Ask("ListConfigResources", 1, lambda _: LC.ListConfigResourcesRequest([16])),
    Ask(
        "DescribeTopicPartitions",
        0,
        lambda _: TP.DescribeTopicPartitionsRequest([TP.TopicRequest(name) for name in (*PAIR, "absent")], 100),
    ),
    Ask("CreateDelegationToken", 2, lambda _: _token(NT.CreatableRenewers("User", "bob"))),
    Ask("CreateDelegationToken for a group", 3, lambda _: _token(NT.CreatableRenewers("Group", "staff"))),
    Ask("CreateDelegationToken of another", 3, lambda _: _token(owner="bob")),
    Ask("DescribeDelegationToken", 3, lambda _: ST.DescribeDelegationTokenRequest(None)),
    Ask("RenewDelegationToken", 2, lambda _: RT.RenewDelegationTokenRequest(b"hmac", 1000)),
    Ask("ExpireDelegationToken", 2, lambda _: XT.ExpireDelegationTokenRequest(b"hmac", 1000)),
    Ask("DescribeTopicPartitions of all", 0, lambda _: TP.DescribeTopicPartitionsRequest([], 100)),
)
