"""Every series of a broker: its name, whose name it is, and what it says; ``docs/reference/metrics.md`` shows it.

Kafka's own metrics stand under two names, as published dashboards ask for them: Strimzi's rules for the JMX exporter
make ``messagesin_total`` of ``MessagesInPerSec``, Confluent's make ``messagesinpersec``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oncelog.metrics.exposition import Family, MetricKind

STRIMZI: Final = "Kafka, as Strimzi exports it"
CONFLUENT: Final = "Kafka, as Confluent exports it"
BOTH: Final = "Kafka, as both export it"
EXPORTER: Final = "kafka_exporter"
PROCESS: Final = "process"
ONCELOG: Final = "oncelog"

_COUNTER, _GAUGE, _SUMMARY, _UNKNOWN = MetricKind.COUNTER, MetricKind.GAUGE, MetricKind.SUMMARY, MetricKind.UNKNOWN
_PARTITION = ("topic", "partition")
_FAMILIES: dict[str, Family] = {}


def _add(origin: str, kind: MetricKind, name: str, text: str, *labels: str) -> None:
    _FAMILIES[name] = Family(name, kind, origin, labels, text)


def _meter(bean: str, meter: str, text: str, *labels: str) -> None:
    """A meter of Kafka's (``...PerSec``): its count, under both names."""
    prefix = f"kafka_{bean}_{meter.lower()}"
    _add(STRIMZI, _COUNTER, f"{prefix}_total", text, *labels)
    _add(CONFLUENT, _UNKNOWN, f"{prefix}persec", text, *labels)


def _gauges(origin: str, *entries: tuple[str, str, tuple[str, ...]]) -> None:
    for name, text, labels in entries:
        _add(origin, _GAUGE, name, text, *labels)


_TOPIC_METRICS = "server_brokertopicmetrics"
TOPIC_METERS: Final[Mapping[str, str]] = {
    "MessagesIn": "Records appended since the start, transactions' markers among them.",
    "BytesIn": "Bytes appended since the start.",
    "BytesOut": "Bytes sent to consumers since the start.",
    "TotalProduceRequests": "Batches appended or refused since the start; a repeated batch counts.",
    "FailedProduceRequests": "Batches refused since the start for their producer or a record; not those too large, "
    "corrupt, or for a failing disk.",
    "TotalFetchRequests": "Looks of consumers at partitions since the start.",
    "FailedFetchRequests": "Looks at partitions that a failing disk had stopped.",
}
for _meter_name, _text in TOPIC_METERS.items():
    _meter(_TOPIC_METRICS, _meter_name, f"{_text} Without a topic: of all.", "topic")
for _meter_name in ("FetchMessageConversions", "ProduceMessageConversions"):
    _meter(_TOPIC_METRICS, _meter_name, "Always 0: record formats older than version 2 are not converted.")

_meter("network_requestmetrics", "Requests", "Requests since the start.", "request", "version")
_meter("network_requestmetrics", "Errors", "Answers since the start by the errors in them.", "request", "error")
for _name, _text in {
    "localtimems": "Milliseconds that requests were worked on.",
    "remotetimems": "Milliseconds that answers waited for: a sync, new records, a group's other members.",
    "totaltimems": "Milliseconds from a request that is whole to its answer.",
    "requestqueuetimems": "Always 0: one thread reads requests and works on them, there is no queue between.",
    "responsequeuetimems": "Always 0: one thread works on requests and sends answers, there is no queue between.",
    "responsesendtimems": "Always 0: answers of an iteration leave together, which is not measured for each.",
}.items():
    _add(BOTH, _SUMMARY, f"kafka_network_requestmetrics_{_name}", _text, "request")

_gauges(
    BOTH,
    ("kafka_cluster_partition_atminisr", "1 if one replica less would be too few.", _PARTITION),
    ("kafka_cluster_partition_insyncreplicascount", "Replicas in sync; 0 if the disk stopped it.", _PARTITION),
    ("kafka_cluster_partition_laststableoffsetlag", "Records that open transactions hold back.", _PARTITION),
    ("kafka_cluster_partition_replicascount", "Replicas: 1, but with --nodes.", _PARTITION),
    (
        "kafka_cluster_partition_underminisr",
        "1 if fewer are in sync than acks=all needs, or the disk stopped it.",
        _PARTITION,
    ),
    ("kafka_cluster_partition_underreplicated", "1 if not all are in sync, or the disk stopped it.", _PARTITION),
    ("kafka_log_log_logendoffset", "The offset that the next record gets.", _PARTITION),
    ("kafka_log_log_logstartoffset", "The first offset that can be read.", _PARTITION),
    ("kafka_log_log_numlogsegments", "Segments.", _PARTITION),
    ("kafka_log_log_size", "Bytes of the segments.", _PARTITION),
    ("kafka_log_logmanager_offlinelogdirectorycount", "1 if the disk stopped any partition.", ()),
    ("kafka_server_replicamanager_partitioncount", "Partitions.", ()),
    ("kafka_server_replicamanager_leadercount", "Partitions, all of them led here.", ()),
    ("kafka_server_replicamanager_offlinereplicacount", "Partitions that the disk stopped.", ()),
    ("kafka_server_replicamanager_underreplicatedpartitions", "Partitions whose replicas are not all in sync.", ()),
    ("kafka_server_replicamanager_underminisrpartitioncount", "Partitions with too few in sync for acks=all.", ()),
    ("kafka_server_replicamanager_atminisrpartitioncount", "Partitions that one replica less would end.", ()),
    ("kafka_controller_kafkacontroller_activecontrollercount", "1: the one node is its own controller.", ()),
    ("kafka_controller_kafkacontroller_activebrokercount", "Nodes that are up: 1, but with --nodes.", ()),
    ("kafka_controller_kafkacontroller_fencedbrokercount", "Nodes that are down.", ()),
    ("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions.", ()),
    ("kafka_controller_kafkacontroller_globaltopiccount", "Topics.", ()),
    (
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        "Partitions without a leader, or that the disk stopped.",
        (),
    ),
    (
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        "Partitions that another node leads than the preferred one.",
        (),
    ),
    ("kafka_server_kafkaserver_brokerstate", "1 while it starts, 2 while it recovers, 3 when it serves.", ()),
    ("kafka_server_kafkaserver_linux_disk_read_bytes", "Bytes that the process had read from disks.", ()),
    ("kafka_server_kafkaserver_linux_disk_write_bytes", "Bytes that the process had written to disks.", ()),
    ("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Fetch sessions.", ()),
    ("kafka_server_replicafetchermanager_maxlag", "Offsets that the last replica lacks, with --nodes.", ("clientid",)),
    ("kafka_server_replicafetchermanager_minfetchrate", "0: nodes fetch nothing from each other.", ("clientid",)),
    ("kafka_network_requestchannel_requestqueuesize", "Connections whose next request waits for its turn.", ()),
    ("kafka_network_requestchannel_responsequeuesize", "Fetches that wait for new records.", ()),
    ("kafka_server_delayedoperationpurgatory_purgatorysize", "Fetches that wait.", ("delayedOperation",)),
)
_meter("controller_controllerstats", "UncleanLeaderElections", "Leaders not in sync before: 0, but with --nodes.")
_meter("server_replicamanager", "IsrExpands", "Replicas that were in sync again: 0, but with --nodes.")
_meter("server_replicamanager", "IsrShrinks", "Replicas that fell out of sync: 0, but with --nodes.")
_meter("server_fetchsessioncache", "IncrementalFetchSessionEvictions", "Fetch sessions that gave way to others.")
_add(
    BOTH,
    _SUMMARY,
    "kafka_log_logflushstats_logflushrateandtimems",
    "Milliseconds that syncs took.",
)
_gauges(
    STRIMZI,
    ("kafka_network_socketserver_networkprocessoravgidle_percent", "Part of its time that the loop slept, 0 to 1.", ()),
    (
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        "Part of its time that the loop slept, 0 to 1.",
        (),
    ),
    ("kafka_server_socket_server_metrics_connection_count", "Connections.", ("listener", "networkProcessor")),
    (
        "kafka_server_socket_server_metrics_connections_software",
        "Connections by the client's software.",
        ("clientSoftwareName", "clientSoftwareVersion", "listener", "networkProcessor"),
    ),
    ("kafka_server_raftmetrics_append_records_rate", "Changes of metadata a second.", ()),
    ("kafka_server_raftmetrics_commit_latency_avg", "Always 0: a change is committed when it is made.", ()),
    ("kafka_server_raftmetrics_current_epoch", "The quorum's epoch: one more at each start.", ()),
    ("kafka_server_raftmetrics_current_leader", "This node's id.", ()),
    ("kafka_server_raftmetrics_current_state", "1: the one node leads.", ("current_state",)),
    ("kafka_server_raftmetrics_current_vote", "This node's id.", ()),
    ("kafka_server_raftmetrics_fetch_records_rate", "0: nothing is replicated.", ()),
    ("kafka_server_raftmetrics_high_watermark", "Changes of metadata so far.", ()),
    ("kafka_server_raftmetrics_log_end_offset", "Changes of metadata so far.", ()),
)
for _name in ("incoming_byte", "outgoing_byte", "request", "response"):
    _add(STRIMZI, _COUNTER, f"kafka_server_raftchannelmetrics_{_name}_total", "0: the quorum has one node.")
_gauges(
    CONFLUENT,
    ("kafka_network_acceptor_acceptorblockedpercent", "0: accepting waits for nobody.", ("listener",)),
    ("kafka_network_socketserver_networkprocessoravgidlepercent", "Part of its time that the loop slept, 0 to 1.", ()),
    (
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_oneminuterate",
        "Part of its time that the loop slept in the last minute, 0 to 1.",
        (),
    ),
    ("kafka_server_socketservermetrics_connection_count", "Connections.", ("listener", "networkprocessor")),
    ("kafka_server_socketservermetrics_connection_creation_rate", "New ones a second.", ("listener",)),
    ("kafka_server_socketservermetrics_connection_close_rate", "Ended ones a second.", ("listener",)),
    (
        "kafka_server_socketservermetrics_connections",
        "Connections by the client's software.",
        ("client_software_name", "client_software_version", "listener"),
    ),
    ("kafka_coordinator_group_groupmetadatamanager_numgroups", "Groups.", ()),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupscompletingrebalance", "Groups in that state.", ()),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupsdead", "Groups in that state.", ()),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupsempty", "Groups in that state.", ()),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance", "Groups in that state.", ()),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupsstable", "Groups in that state.", ()),
)
_QUOTA = ("user", "client_id")
for _name in ("produce", "fetch"):
    _add(
        CONFLUENT,
        _GAUGE,
        f"kafka_server_{_name}_byte_rate",
        "Bytes per second of a user or client with a quota.",
        *_QUOTA,
    )
_add(
    CONFLUENT,
    _GAUGE,
    "kafka_server_request_request_time",
    "Percentage of the loop's time used by a user or client with a quota.",
    *_QUOTA,
)
_add(
    *(CONFLUENT, _GAUGE, "kafka_server_controllermutation_mutation_rate"),
    *("Partitions created or deleted per second by a user or client with a quota.", *_QUOTA),
)
for _name in ("produce", "fetch", "request", "controllermutation"):
    _add(
        CONFLUENT, _GAUGE, f"kafka_server_{_name}_throttle_time", "Milliseconds that it was last told to wait.", *_QUOTA
    )
_TRANSACTIONS = "kafka_server_transaction_coordinator_metrics"
_gauges(
    CONFLUENT,
    (f"{_TRANSACTIONS}_active_transaction_total_time_max", "Milliseconds that the oldest one is open.", ()),
    (f"{_TRANSACTIONS}_partition_load_time_avg", "Milliseconds that the last start took to read a partition.", ()),
    (f"{_TRANSACTIONS}_partition_load_time_max", "The same: partitions are read together.", ()),
    (f"{_TRANSACTIONS}_partitions_total_size", "Bytes of __transaction_state.", ()),
    (
        f"{_TRANSACTIONS}_prepare_commit_to_complete_commit_latency",
        "Milliseconds (median) from a transaction's decided end to its markers on all partitions.",
        (),
    ),
    (f"{_TRANSACTIONS}_transaction_timeout_rate", "Transactions aborted for their timeout, a second.", ()),
    (f"{_TRANSACTIONS}_transactional_id_count", "Transactional ids.", ()),
)
_add(CONFLUENT, _UNKNOWN, f"{_TRANSACTIONS}_transaction_state_error_count", "Requests answered INVALID_TXN_STATE.")
_add(CONFLUENT, _UNKNOWN, f"{_TRANSACTIONS}_transaction_timeout_count", "Transactions aborted for their timeout.")

_GROUP = ("consumergroup", "topic", "partition")
_gauges(
    EXPORTER,
    ("kafka_brokers", "Nodes that are up.", ()),
    ("kafka_broker_info", "1 with the broker's id and address.", ("id", "address")),
    ("kafka_topic_partitions", "Partitions of a topic.", ("topic",)),
    ("kafka_topic_partition_current_offset", "High watermark.", _PARTITION),
    ("kafka_topic_partition_oldest_offset", "The first offset that can be read.", _PARTITION),
    ("kafka_topic_partition_in_sync_replica", "Replicas in sync; 0 if the disk stopped it.", _PARTITION),
    ("kafka_topic_partition_leader", "The leader's id, or -1 if there is none.", _PARTITION),
    ("kafka_topic_partition_leader_is_preferred", "1 if the preferred replica leads.", _PARTITION),
    ("kafka_topic_partition_replicas", "Replicas.", _PARTITION),
    ("kafka_topic_partition_under_replicated_partition", "1 if not all replicas are in sync.", _PARTITION),
    ("kafka_consumergroup_members", "Members of a group.", ("consumergroup",)),
    ("kafka_consumergroup_current_offset", "What a group committed.", _GROUP),
    ("kafka_consumergroup_lag", "Offsets between what a group committed and the high watermark.", _GROUP),
)
_add(PROCESS, _COUNTER, "process_cpu_seconds_total", "CPU time of the process, user and system.")
_gauges(
    PROCESS,
    ("process_open_fds", "Open file descriptors.", ()),
    ("process_max_fds", "How many may be open.", ()),
    ("process_resident_memory_bytes", "Memory of the process.", ()),
    ("process_virtual_memory_bytes", "Address space of the process.", ()),
    ("process_start_time_seconds", "When the process started.", ()),
    ("jvm_memory_used_bytes", "Memory of the process, under the name that dashboards ask for; no JVM.", ("area",)),
    ("jvm_memory_bytes_max", "Memory that the process may have, or the machine has.", ("area",)),
    ("jvm_threads_current", "Threads of the process.", ()),
)
_add(PROCESS, _SUMMARY, "jvm_gc_collection_seconds", "Python's garbage collections, under that name.", "gc")

_add(ONCELOG, _GAUGE, "oncelog_info", "1 with version, record codec and flush policy.", "version", "codec", "flush")
_gauges(
    ONCELOG,
    ("oncelog_ready", "1 when it serves and no disk has stopped a partition.", ()),
    ("oncelog_recovery_partitions", "Partitions that the data folder had at the start.", ()),
    ("oncelog_recovery_partitions_opened", "Those of them that were open so far.", ()),
    ("oncelog_start_seconds", "What the start took.", ()),
    ("oncelog_data_available_bytes", "Free bytes of the file system with the data folder.", ()),
    ("oncelog_data_capacity_bytes", "Size of the file system with the data folder.", ()),
    ("oncelog_transactions_open", "Transactions that are open or being completed.", ("state",)),
    ("oncelog_transactions_oldest_seconds", "For how long the oldest of them has been open.", ()),
    (
        "oncelog_coordinator_partitions_unreadable",
        "Partitions of a coordinator that could not be read: some groups or transactional ids are not served.",
        ("coordinator",),
    ),
    ("oncelog_partitions_held_back", "Partitions in which an open transaction holds records back.", ()),
    ("oncelog_consumergroup_stable_lag", "Records between what a group committed and the last stable offset.", _GROUP),
    ("oncelog_producers", "Producers that partitions remember.", ()),
)
_add(ONCELOG, _COUNTER, "oncelog_transactions_ended_total", "Transactions that were completed.", "outcome")
_add(ONCELOG, _COUNTER, "oncelog_transactions_timed_out_total", "Transactions aborted for their timeout.")
_add(ONCELOG, _COUNTER, "oncelog_markers_total", "Ends of transactions on partitions.", "topic", "outcome")
_add(ONCELOG, _COUNTER, "oncelog_fenced_total", "Batches and requests of producers that a newer one replaced.", "where")
_add(ONCELOG, _COUNTER, "oncelog_duplicate_batches_total", "Batches that were there already.", "topic")
_add(ONCELOG, _COUNTER, "oncelog_refused_batches_total", "Batches that were not taken in.", "topic", "error")
_add(
    ONCELOG,
    _COUNTER,
    "oncelog_transaction_verifications_total",
    "Partitions' questions whether a transaction is open (KIP-890), those that add it among them.",
    "result",
)
_add(ONCELOG, _COUNTER, "oncelog_defects_total", "Requests whose connection ended for a defect.", "request")
_add(ONCELOG, _SUMMARY, "oncelog_flush_seconds", "Syncs.")
_add(ONCELOG, _COUNTER, "oncelog_flush_failures_total", "Partitions whose sync failed.")
_add(ONCELOG, _SUMMARY, "oncelog_transaction_completion_seconds", "From a decided end to all markers.")
_add(ONCELOG, _SUMMARY, "oncelog_event_loop_delay_seconds", "How late the loop calls what is due.")
_add(ONCELOG, _COUNTER, "oncelog_connections_opened_total", "Connections accepted.", "listener")
_add(ONCELOG, _COUNTER, "oncelog_connections_closed_total", "Connections ended.", "listener")
_add(ONCELOG, _GAUGE, "oncelog_scrape_seconds", "What the last scrape took on the loop, in slices.")

FAMILIES: Final[Mapping[str, Family]] = _FAMILIES
