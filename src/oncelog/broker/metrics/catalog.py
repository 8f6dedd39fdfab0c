"""Every series of a broker: its name, the exporter that uses this name, and its meaning
(``docs/reference/metrics.md``).

Kafka's own metrics have two names each, which published dashboards query: Strimzi's rules for the JMX exporter turn
``MessagesInPerSec`` into ``messagesin_total``, Confluent's into ``messagesinpersec``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oncelog.broker.metrics.exposition import Family, MetricKind

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
    """Add the count of one of Kafka's meters (``...PerSec``), under both names."""
    prefix = f"kafka_{bean}_{meter.lower()}"
    _add(STRIMZI, _COUNTER, f"{prefix}_total", text, *labels)
    _add(CONFLUENT, _UNKNOWN, f"{prefix}persec", text, *labels)


def _gauges(origin: str, *entries: tuple[str, str, tuple[str, ...]]) -> None:
    for name, text, labels in entries:
        _add(origin, _GAUGE, name, text, *labels)


_TOPIC_METRICS = "server_brokertopicmetrics"
EVERY_TOPIC: Final = "Without a topic: of all topics."
TOPIC_METERS: Final[Mapping[str, str]] = {
    "MessagesIn": "Appended records, including transaction markers.",
    "BytesIn": "Appended bytes.",
    "BytesOut": "Bytes sent to consumers.",
    "TotalProduceRequests": "Batches appended or refused, including duplicates.",
    "FailedProduceRequests": "Batches refused because of their producer or a record; not those too large, corrupt, "
    "or refused by a failing disk.",
    "TotalFetchRequests": "Reads of partitions by consumers.",
    "FailedFetchRequests": "Reads of partitions that were offline because of a failed disk.",
}
for _meter_name, _text in TOPIC_METERS.items():
    _meter(_TOPIC_METRICS, _meter_name, f"{_text} {EVERY_TOPIC}", "topic")
for _meter_name in ("FetchMessageConversions", "ProduceMessageConversions"):
    _meter(_TOPIC_METRICS, _meter_name, "Always 0: record formats older than version 2 are not converted.")

_meter("network_requestmetrics", "Requests", "Requests.", "request", "version")
_meter("network_requestmetrics", "Errors", "Responses, by the errors in them.", "request", "error")
for _name, _text in {
    "localtimems": "Milliseconds of work on requests.",
    "remotetimems": "Milliseconds of waiting for a sync, new records or other members of a group.",
    "totaltimems": "Milliseconds from the complete request to its response.",
    "requestqueuetimems": "Always 0: one thread reads and handles requests, without a queue.",
    "responsequeuetimems": "Always 0: one thread reads and handles requests, without a queue.",
    "responsesendtimems": "Always 0: sending is not measured.",
}.items():
    _add(BOTH, _SUMMARY, f"kafka_network_requestmetrics_{_name}", _text, "request")

_gauges(
    BOTH,
    ("kafka_cluster_partition_atminisr", "1 if exactly as many replicas are in sync as acks=all needs.", _PARTITION),
    ("kafka_cluster_partition_insyncreplicascount", "Replicas in sync; 0 if the disk failed.", _PARTITION),
    (
        "kafka_cluster_partition_laststableoffsetlag",
        "Offsets between the last stable offset and the high watermark.",
        _PARTITION,
    ),
    ("kafka_cluster_partition_replicascount", "Replicas: 1, except with --nodes.", _PARTITION),
    (
        "kafka_cluster_partition_underminisr",
        "1 if too few replicas are in sync for acks=all, or the disk failed.",
        _PARTITION,
    ),
    ("kafka_cluster_partition_underreplicated", "1 if not all replicas are in sync, or the disk failed.", _PARTITION),
    ("kafka_log_log_logendoffset", "The log end offset.", _PARTITION),
    ("kafka_log_log_logstartoffset", "The first offset that can be read.", _PARTITION),
    ("kafka_log_log_numlogsegments", "Segments.", _PARTITION),
    ("kafka_log_log_size", "Size of the segments in bytes.", _PARTITION),
    ("kafka_log_logmanager_offlinelogdirectorycount", "1 if any partition is offline because of a failed disk.", ()),
    ("kafka_server_replicamanager_partitioncount", "Partitions.", ()),
    ("kafka_server_replicamanager_leadercount", "Partitions: this broker leads all of them.", ()),
    ("kafka_server_replicamanager_offlinereplicacount", "Partitions offline because of a failed disk.", ()),
    ("kafka_server_replicamanager_underreplicatedpartitions", "Partitions whose replicas are not all in sync.", ()),
    ("kafka_server_replicamanager_underminisrpartitioncount", "Partitions with too few in sync for acks=all.", ()),
    (
        "kafka_server_replicamanager_atminisrpartitioncount",
        "Partitions with exactly as many replicas in sync as acks=all needs.",
        (),
    ),
    ("kafka_controller_kafkacontroller_activecontrollercount", "1: the broker is its own controller.", ()),
    ("kafka_controller_kafkacontroller_activebrokercount", "Nodes that are up: 1, except with --nodes.", ()),
    ("kafka_controller_kafkacontroller_fencedbrokercount", "Nodes that are down.", ()),
    ("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions.", ()),
    ("kafka_controller_kafkacontroller_globaltopiccount", "Topics.", ()),
    (
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        "Partitions without a leader, or offline because of a failed disk.",
        (),
    ),
    (
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        "Partitions not led by their preferred replica.",
        (),
    ),
    ("kafka_server_kafkaserver_brokerstate", "1: starting, 2: recovering, 3: running.", ()),
    ("kafka_server_kafkaserver_linux_disk_read_bytes", "Bytes that the process has read from disks.", ()),
    ("kafka_server_kafkaserver_linux_disk_write_bytes", "Bytes that the process has written to disks.", ()),
    ("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Fetch sessions.", ()),
    (
        "kafka_server_replicafetchermanager_maxlag",
        "Offsets that the slowest replica lags behind, with --nodes.",
        ("clientid",),
    ),
    ("kafka_server_replicafetchermanager_minfetchrate", "0: nodes fetch nothing from each other.", ("clientid",)),
    ("kafka_network_requestchannel_requestqueuesize", "Connections with a request that has not been started.", ()),
    ("kafka_network_requestchannel_responsequeuesize", "Fetches waiting for new records.", ()),
    (
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "Fetches waiting in the purgatory.",
        ("delayedOperation",),
    ),
)
_meter("controller_controllerstats", "UncleanLeaderElections", "Unclean leader elections: 0, except with --nodes.")
_meter("server_replicamanager", "IsrExpands", "Replicas that came back into sync: 0, except with --nodes.")
_meter("server_replicamanager", "IsrShrinks", "Replicas that fell out of sync: 0, except with --nodes.")
_meter("server_fetchsessioncache", "IncrementalFetchSessionEvictions", "Fetch sessions evicted to make way for others.")
_add(
    BOTH,
    _SUMMARY,
    "kafka_log_logflushstats_logflushrateandtimems",
    "Duration of syncs in milliseconds.",
)
_gauges(
    STRIMZI,
    (
        "kafka_network_socketserver_networkprocessoravgidle_percent",
        "Fraction of the time that the event loop was idle, 0 to 1.",
        (),
    ),
    (
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        "Fraction of the time that the event loop was idle, 0 to 1.",
        (),
    ),
    ("kafka_server_socket_server_metrics_connection_count", "Connections.", ("listener", "networkProcessor")),
    (
        "kafka_server_socket_server_metrics_connections_software",
        "Connections by the client's software.",
        ("clientSoftwareName", "clientSoftwareVersion", "listener", "networkProcessor"),
    ),
    ("kafka_server_raftmetrics_append_records_rate", "Metadata changes per second.", ()),
    ("kafka_server_raftmetrics_commit_latency_avg", "Always 0: a change is committed at once.", ()),
    ("kafka_server_raftmetrics_current_epoch", "The quorum's epoch: it rises with each start.", ()),
    ("kafka_server_raftmetrics_current_leader", "This node's id.", ()),
    ("kafka_server_raftmetrics_current_state", "1: the only node leads.", ("current_state",)),
    ("kafka_server_raftmetrics_current_vote", "This node's id.", ()),
    ("kafka_server_raftmetrics_fetch_records_rate", "0: nothing is replicated.", ()),
    ("kafka_server_raftmetrics_high_watermark", "Metadata changes so far.", ()),
    ("kafka_server_raftmetrics_log_end_offset", "Metadata changes so far.", ()),
)
for _name in ("incoming_byte", "outgoing_byte", "request", "response"):
    _add(STRIMZI, _COUNTER, f"kafka_server_raftchannelmetrics_{_name}_total", "Always 0: the quorum has one node.")
_gauges(
    CONFLUENT,
    ("kafka_network_acceptor_acceptorblockedpercent", "0: accepting never blocks.", ("listener",)),
    (
        "kafka_network_socketserver_networkprocessoravgidlepercent",
        "Fraction of the time that the event loop was idle, 0 to 1.",
        (),
    ),
    (
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_oneminuterate",
        "Fraction of the last minute that the event loop was idle, 0 to 1.",
        (),
    ),
    ("kafka_server_socketservermetrics_connection_count", "Connections.", ("listener", "networkprocessor")),
    ("kafka_server_socketservermetrics_connection_creation_rate", "Connections accepted per second.", ("listener",)),
    ("kafka_server_socketservermetrics_connection_close_rate", "Connections closed per second.", ("listener",)),
    (
        "kafka_server_socketservermetrics_connections",
        "Connections by the client's software.",
        ("client_software_name", "client_software_version", "listener"),
    ),
    ("kafka_coordinator_group_groupmetadatamanager_numgroups", "Groups.", ()),
    (
        "kafka_coordinator_group_groupmetadatamanager_numgroupscompletingrebalance",
        "Groups in the state of the name.",
        (),
    ),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupsdead", "Groups in the state of the name.", ()),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupsempty", "Groups in the state of the name.", ()),
    (
        "kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance",
        "Groups in the state of the name.",
        (),
    ),
    ("kafka_coordinator_group_groupmetadatamanager_numgroupsstable", "Groups in the state of the name.", ()),
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
        CONFLUENT,
        _GAUGE,
        f"kafka_server_{_name}_throttle_time",
        "Last throttle time in milliseconds of a user or client with a quota.",
        *_QUOTA,
    )
_TRANSACTIONS = "kafka_server_transaction_coordinator_metrics"
_gauges(
    CONFLUENT,
    (f"{_TRANSACTIONS}_active_transaction_total_time_max", "Age of the oldest open transaction in milliseconds.", ()),
    (f"{_TRANSACTIONS}_partition_load_time_avg", "Milliseconds that the last start took to load a partition.", ()),
    (f"{_TRANSACTIONS}_partition_load_time_max", "Milliseconds that the last start took to load a partition.", ()),
    (f"{_TRANSACTIONS}_partitions_total_size", "Size of __transaction_state in bytes.", ()),
    (
        f"{_TRANSACTIONS}_prepare_commit_to_complete_commit_latency",
        "Milliseconds (median) from Prepare to the last marker of a transaction.",
        (),
    ),
    (f"{_TRANSACTIONS}_transaction_timeout_rate", "Transactions aborted by their timeout, per second.", ()),
    (f"{_TRANSACTIONS}_transactional_id_count", "Transactional ids.", ()),
)
_add(CONFLUENT, _UNKNOWN, f"{_TRANSACTIONS}_transaction_state_error_count", "Requests answered INVALID_TXN_STATE.")
_add(CONFLUENT, _UNKNOWN, f"{_TRANSACTIONS}_transaction_timeout_count", "Transactions aborted by their timeout.")

_COORDINATOR = "kafka_server_group_coordinator_metrics"
_SHARED = ("group", "topic", "partition")
_gauges(
    CONFLUENT,
    (f"{_COORDINATOR}_group_count", "Groups, by the protocol of their members.", ("protocol",)),
    (f"{_COORDINATOR}_share_group_count", "Share groups, by state.", ("state",)),
)
_gauges(
    BOTH,
    (
        "kafka_server_sharepartitionmetrics_inflightmessagecount",
        "Records between a share group's start offset and the last acquired one.",
        _SHARED,
    ),
    (
        "kafka_server_sharepartitionmetrics_inflightbatchcount",
        "Ranges of records in flight with the same state, member and delivery count.",
        _SHARED,
    ),
    ("kafka_server_sharesessioncache_sharesessionscount", "Sessions of share consumers.", ()),
    ("kafka_server_sharesessioncache_sharepartitionscount", "Partitions in these sessions.", ()),
)
_meter(
    "server_sharepartitionmetrics",
    "AcquisitionLockTimeout",
    "Records whose lock ended before they were acknowledged.",
    *_SHARED,
)
_meter(
    "server_sharegroupmetrics",
    "RecordAcknowledgements",
    "Acknowledged records, by the type of acknowledgement.",
    "ackType",
)
_meter(_TOPIC_METRICS, "TotalShareFetchRequests", "ShareFetch requests with a session.")
_meter(_TOPIC_METRICS, "TotalShareAcknowledgementRequests", "Requests with acknowledgements.")
_meter(_TOPIC_METRICS, "FailedShareFetchRequests", "ShareFetch requests in which a partition got an error.")
_meter(_TOPIC_METRICS, "FailedShareAcknowledgementRequests", "Requests with acknowledgements that were refused.")
_meter("server_sharesessioncache", "ShareSessionEvictions", "Sessions that ended with their connection.")
_DEAD_LETTERS = "server_sharegroupmetrics"
_meter(_DEAD_LETTERS, "DeadLetterQueueTotalProduceRequests", "Attempts to write a batch of dead letters.", "group")
_meter(
    _DEAD_LETTERS, "DeadLetterQueueFailedProduceRequests", "Attempts to write dead letters that were refused.", "group"
)
_gauges(BOTH, (f"kafka_{_DEAD_LETTERS}_deadletterqueuerecordcount", "Dead letters that were written.", ("group",)))
_GROUP = ("consumergroup", "topic", "partition")
_gauges(
    EXPORTER,
    ("kafka_brokers", "Nodes that are up.", ()),
    ("kafka_broker_info", "Always 1; the labels give the broker's id and address.", ("id", "address")),
    ("kafka_topic_partitions", "Partitions of a topic.", ("topic",)),
    ("kafka_topic_partition_current_offset", "High watermark.", _PARTITION),
    ("kafka_topic_partition_oldest_offset", "The first offset that can be read.", _PARTITION),
    ("kafka_topic_partition_in_sync_replica", "Replicas in sync; 0 if the disk failed.", _PARTITION),
    ("kafka_topic_partition_leader", "The leader's id, or -1 if there is none.", _PARTITION),
    ("kafka_topic_partition_leader_is_preferred", "1 if the preferred replica leads.", _PARTITION),
    ("kafka_topic_partition_replicas", "Replicas.", _PARTITION),
    ("kafka_topic_partition_under_replicated_partition", "1 if not all replicas are in sync.", _PARTITION),
    ("kafka_consumergroup_members", "Members of a group.", ("consumergroup",)),
    ("kafka_consumergroup_current_offset", "A group's committed offset.", _GROUP),
    ("kafka_consumergroup_lag", "Offsets between a group's committed offset and the high watermark.", _GROUP),
)
_add(PROCESS, _COUNTER, "process_cpu_seconds_total", "CPU time of the process, user and system.")
_gauges(
    PROCESS,
    ("process_open_fds", "Open file descriptors.", ()),
    ("process_max_fds", "Limit on open file descriptors.", ()),
    ("process_resident_memory_bytes", "Resident memory of the process.", ()),
    ("process_virtual_memory_bytes", "Address space of the process.", ()),
    ("process_start_time_seconds", "Start time of the process, in Unix seconds.", ()),
    (
        "jvm_memory_used_bytes",
        "Memory of the process, under the JVM's name.",
        ("area",),
    ),
    ("jvm_memory_bytes_max", "Memory limit of the process, or the machine's memory.", ("area",)),
    ("jvm_threads_current", "Threads of the process.", ()),
)
_add(PROCESS, _SUMMARY, "jvm_gc_collection_seconds", "Python's garbage collections, under the JVM's name.", "gc")

_add(
    ONCELOG,
    _GAUGE,
    "oncelog_info",
    "Always 1; the labels give version, record codec and flush policy.",
    "version",
    "codec",
    "flush",
)
_gauges(
    ONCELOG,
    ("oncelog_ready", "1 if the broker runs and no disk failed.", ()),
    ("oncelog_recovery_partitions", "Partitions in the data folder at the start.", ()),
    ("oncelog_recovery_partitions_opened", "Partitions opened by the start so far.", ()),
    ("oncelog_start_seconds", "Duration of the start.", ()),
    ("oncelog_data_available_bytes", "Free bytes of the file system with the data folder.", ()),
    ("oncelog_data_capacity_bytes", "Size of the file system with the data folder.", ()),
    ("oncelog_transactions_open", "Transactions that are open or in completion.", ("state",)),
    ("oncelog_transactions_oldest_seconds", "Age of the oldest such transaction.", ()),
    (
        "oncelog_coordinator_partitions_unreadable",
        "Unreadable partitions of a coordinator: their groups or transactional ids are not served.",
        ("coordinator",),
    ),
    ("oncelog_partitions_held_back", "Partitions in which an open transaction delays read_committed readers.", ()),
    (
        "oncelog_consumergroup_stable_lag",
        "Offsets between a group's committed offset and the last stable offset.",
        _GROUP,
    ),
    ("oncelog_sharegroup_members", "Members of a share group.", ("group",)),
    ("oncelog_sharegroup_start_offset", "Offset before which all records are processed.", _SHARED),
    (
        "oncelog_sharegroup_lag",
        "Records between the start offset and the high watermark that are not processed.",
        _SHARED,
    ),
    ("oncelog_sharegroup_acquired", "Records that members have acquired.", _SHARED),
    ("oncelog_producers", "Producers that partitions know.", ()),
)
_add(ONCELOG, _COUNTER, "oncelog_transactions_ended_total", "Completed transactions.", "outcome")
_add(ONCELOG, _COUNTER, "oncelog_transactions_timed_out_total", "Transactions aborted by their timeout.")
_add(ONCELOG, _COUNTER, "oncelog_markers_total", "Transaction markers appended.", "topic", "outcome")
_add(
    ONCELOG,
    _COUNTER,
    "oncelog_fenced_total",
    "Batches and requests of fenced producers.",
    "where",
)
_add(ONCELOG, _COUNTER, "oncelog_duplicate_batches_total", "Duplicate batches, which are not appended.", "topic")
_add(ONCELOG, _COUNTER, "oncelog_refused_batches_total", "Refused batches.", "topic", "error")
_add(
    ONCELOG,
    _COUNTER,
    "oncelog_transaction_verifications_total",
    "Checks that a partition is in a transaction (KIP-890), including those that add it.",
    "result",
)
_add(ONCELOG, _COUNTER, "oncelog_defects_total", "Requests whose connection was closed because of a bug.", "request")
_add(ONCELOG, _SUMMARY, "oncelog_flush_seconds", "Duration of syncs.")
_add(ONCELOG, _COUNTER, "oncelog_flush_failures_total", "Partitions whose sync failed.")
_add(ONCELOG, _SUMMARY, "oncelog_transaction_completion_seconds", "Time from Prepare to all markers.")
_add(ONCELOG, _SUMMARY, "oncelog_event_loop_delay_seconds", "Delay of the event loop's callbacks.")
_add(ONCELOG, _COUNTER, "oncelog_connections_opened_total", "Connections accepted.", "listener")
_add(ONCELOG, _COUNTER, "oncelog_connections_closed_total", "Connections closed.", "listener")
_add(ONCELOG, _GAUGE, "oncelog_scrape_seconds", "Time that the last scrape took on the event loop.")

FAMILIES: Final[Mapping[str, Family]] = _FAMILIES
