"""Collects a broker's series from its core and its server, on the event loop's thread, in small chunks between other
callbacks.

A change between chunks is seen if it concerns a later chunk. No state remains between scrapes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from importlib.metadata import version
from operator import add
from typing import TYPE_CHECKING

from oncelog.broker.coordinator.share.share_group import ShareGroup
from oncelog.broker.coordinator.transaction.states import PREPARED, TransactionState
from oncelog.broker.core.cluster.cluster import Replicas
from oncelog.broker.core.registry import SERVED
from oncelog.broker.core.requests.durations import Durations
from oncelog.broker.core.storage.partition import METERS
from oncelog.broker.log.activity import REFUSALS
from oncelog.broker.metrics.catalog import TOPIC_METERS
from oncelog.broker.metrics.exposition import Exposition, labels
from oncelog.broker.metrics.share_series import share_series
from oncelog.broker.metrics.shell import LoopWatch, Shell
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.records import native
from oncelog.types import TRANSACTION_STATE_TOPIC, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.coordinator.group.group_coordinator import GroupCoordinator
    from oncelog.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator
    from oncelog.broker.core.broker import Broker
    from oncelog.broker.core.requests.request_metrics import RequestMetrics
    from oncelog.broker.core.storage.partition import Partition

CHUNK = 20
"""The number of partitions, ids or offsets read in one chunk, which takes well below a millisecond."""
QUANTILES = (("0.50", 0.5), ("0.75", 0.75), ("0.95", 0.95), ("0.98", 0.98), ("0.99", 0.99), ("0.999", 0.999))
"""The percentiles of Kafka's metrics, each as written by the exporter and as a number."""
ALWAYS_SHOWN = (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA)
FENCED = (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)
_METER_PREFIX = "kafka_server_brokertopicmetrics_"
_TRANSACTIONS = "kafka_server_transaction_coordinator_metrics_"
_REQUESTS = "kafka_network_requestmetrics_"
_SOCKETS = "kafka_server_socket_server_metrics_", "kafka_server_socketservermetrics_"


def rate_counts(shell: Shell) -> Mapping[Hashable, float]:
    """The counters whose rates :class:`~oncelog.broker.metrics.shell.LoopWatch` computes; read once a second."""
    broker, counts = shell.broker, shell.counts
    found: dict[Hashable, float] = {"metadata": broker.metadata.changes}
    found.update((("opened", listener), count) for listener, count in counts.opened.items())
    found.update((("closed", listener), count) for listener, count in counts.closed.items())
    if broker.throttle is not None:
        found.update((owner, bucket.used) for owner, bucket in broker.throttle.buckets.items())
    transactions, _ = broker.coordinators_in_use()
    if transactions is not None:
        found["timeouts"] = sum(
            shard.outcomes.get(("Timeout", Error.NONE), 0) for shard in transactions.runtime.shards()
        )
    return found


def broker_series(page: Exposition, shell: Shell, watch: LoopWatch, start_s: float, now_ms: int) -> Iterator[None]:
    """Fill ``page``; each step is a chunk of the work.

    :param start_s: how long the start took, in seconds.
    """
    broker = shell.broker
    _add_start(page, broker, start_s)
    topics: dict[str, _Topic] = {}
    lag = _Sums()
    partitions = list(broker.partitions().values())
    for begin in range(0, len(partitions), CHUNK):
        _add_partitions(page, broker, partitions[begin : begin + CHUNK], topics, lag)
        yield
    yield from _add_topics(page, broker, topics)
    _add_cluster(page, broker, partitions, lag)
    _add_shell(page, shell, watch)
    yield
    if broker.request_metrics is not None:
        _add_requests(page, broker.request_metrics)
    yield
    transactions, groups = broker.coordinators_in_use()
    yield from _add_transactions(page, broker, transactions, watch, lag.fenced, now_ms)
    yield from _add_groups(page, broker, groups)
    yield from share_series(page, broker, groups)
    _add_quotas(page, broker, watch)


class _Topic:
    """Sums over a topic's partitions."""

    def __init__(self) -> None:
        self.meters = [0] * METERS
        self.duplicates = self.commits = self.aborts = 0
        self.refusals: dict[Error, int] = dict.fromkeys(REFUSALS, 0)


class _Sums:
    """Sums over all partitions."""

    def __init__(self) -> None:
        self.fenced = 0
        self.failed = self.behind = self.short = self.at_least = self.offline = self.not_preferred = 0
        self.held_back = self.not_copied = 0
        self.producers = 0
        self.state_bytes = 0


def _add_start(page: Exposition, broker: Broker, start_s: float) -> None:
    codec = "compiled" if native.compiled is not None else "python"
    page.add(
        "oncelog_info", 1, labels(version=version("oncelog"), codec=codec, flush=broker.config.oncelog_flush_policy)
    )
    page.add("oncelog_start_seconds", round(start_s, 6))
    page.add("kafka_server_kafkaserver_brokerstate", 3)


def _add_partitions(
    page: Exposition, broker: Broker, partitions: Sequence[Partition], topics: dict[str, _Topic], lag: _Sums
) -> None:
    """Add the series of each partition; lines are written inline, because these series are nearly all of a large
    scrape."""
    node_id = broker.node.node_id
    lines = page.lines
    at_min, in_sync = lines("kafka_cluster_partition_atminisr"), lines("kafka_cluster_partition_insyncreplicascount")
    held, replicas = (
        lines("kafka_cluster_partition_laststableoffsetlag"),
        lines("kafka_cluster_partition_replicascount"),
    )
    under_min, under = lines("kafka_cluster_partition_underminisr"), lines("kafka_cluster_partition_underreplicated")
    ends, starts = lines("kafka_log_log_logendoffset"), lines("kafka_log_log_logstartoffset")
    segments, sizes = lines("kafka_log_log_numlogsegments"), lines("kafka_log_log_size")
    current, oldest = lines("kafka_topic_partition_current_offset"), lines("kafka_topic_partition_oldest_offset")
    synced, leaders = lines("kafka_topic_partition_in_sync_replica"), lines("kafka_topic_partition_leader")
    preferred = lines("kafka_topic_partition_leader_is_preferred")
    copies = lines("kafka_topic_partition_replicas")
    behind = lines("kafka_topic_partition_under_replicated_partition")
    for partition in partitions:
        (topic, index), log = partition.topic_partition, partition.log
        failed = 1 if log.failed is not None else 0
        count, in_sync_count, leader, is_preferred = _replicas(partition, node_id)
        least = log.config.min_insync_replicas
        is_short = int(in_sync_count < max(min(least, count), 1))
        is_behind = int(in_sync_count < count)
        stable_lag = log.high_watermark - log.last_stable_offset
        size_bytes = log.size_bytes
        at = f'{{topic="{topic}",partition="{index}"}}'
        at_min.append(f"kafka_cluster_partition_atminisr{at} {int(in_sync_count == min(least, count))}\n")
        in_sync.append(f"kafka_cluster_partition_insyncreplicascount{at} {in_sync_count}\n")
        held.append(f"kafka_cluster_partition_laststableoffsetlag{at} {stable_lag}\n")
        replicas.append(f"kafka_cluster_partition_replicascount{at} {count}\n")
        under_min.append(f"kafka_cluster_partition_underminisr{at} {is_short}\n")
        under.append(f"kafka_cluster_partition_underreplicated{at} {is_behind}\n")
        ends.append(f"kafka_log_log_logendoffset{at} {log.log_end_offset}\n")
        starts.append(f"kafka_log_log_logstartoffset{at} {log.log_start_offset}\n")
        segments.append(f"kafka_log_log_numlogsegments{at} {log.segment_count}\n")
        sizes.append(f"kafka_log_log_size{at} {size_bytes}\n")
        current.append(f"kafka_topic_partition_current_offset{at} {log.high_watermark}\n")
        oldest.append(f"kafka_topic_partition_oldest_offset{at} {log.log_start_offset}\n")
        synced.append(f"kafka_topic_partition_in_sync_replica{at} {in_sync_count}\n")
        leaders.append(f"kafka_topic_partition_leader{at} {leader}\n")
        preferred.append(f"kafka_topic_partition_leader_is_preferred{at} {is_preferred}\n")
        copies.append(f"kafka_topic_partition_replicas{at} {count}\n")
        behind.append(f"kafka_topic_partition_under_replicated_partition{at} {is_behind}\n")
        lag.failed += failed
        lag.behind += is_behind
        lag.short += is_short
        lag.at_least += in_sync_count == min(least, count)
        lag.offline += failed or leader < 0
        lag.not_preferred += not is_preferred
        if is_behind and partition.replicas is not None:
            lag.not_copied = max(lag.not_copied, *_not_copied(partition.replicas, log.log_end_offset))
        lag.held_back += stable_lag > 0
        lag.producers += log.producer_count
        if topic == TRANSACTION_STATE_TOPIC:
            lag.state_bytes += size_bytes
        known = topics.get(topic)
        if known is None:
            known = topics[topic] = _Topic()
        known.meters = [*map(add, known.meters, partition.meters())]
        activity = log.activity
        known.duplicates += activity.duplicates
        known.commits += activity.commits
        known.aborts += activity.aborts
        for error, count in activity.refusals.items():
            known.refusals[error] = known.refusals.get(error, 0) + count
            lag.fenced += count if error in FENCED else 0


def _not_copied(replicas: Replicas, end_offset: int) -> list[int]:
    """The numbers of offsets that replicas which have stopped copying are missing, after a 0 for the other replicas."""
    return [0, *(end_offset - stalled for stalled in replicas.stalled.values())]


def _replicas(partition: Partition, node_id: int) -> tuple[int, int, int, int]:
    """The number of replicas, the number in sync, the leader's id, and 1 if the leader is the preferred one."""
    replicas, lost = partition.replicas, partition.log.failed is not None
    if replicas is None:
        return 1, 0 if lost else 1, node_id, 1
    in_sync = 0 if lost else len(replicas.in_sync)
    return len(replicas.assigned), in_sync, replicas.leader, int(replicas.leader == replicas.assigned[0])


def _add_topics(page: Exposition, broker: Broker, topics: Mapping[str, _Topic]) -> Iterator[None]:
    totals = list(broker.topics.retired_meters)
    names = [f"{_METER_PREFIX}{meter.lower()}" for meter in TOPIC_METERS]
    for number, (topic, known) in enumerate(topics.items()):
        at = f'topic="{topic}"'
        info = broker.metadata.topic(topic)
        page.add("kafka_topic_partitions", info.partitions if info is not None else 0, at)
        for index, (name, value) in enumerate(zip(names, known.meters, strict=True)):
            totals[index] += value
            page.add(f"{name}_total", value, at)
            page.add(f"{name}persec", value, at)
        page.add("oncelog_duplicate_batches_total", known.duplicates, at)
        page.add("oncelog_markers_total", known.commits, f'{at},outcome="committed"')
        page.add("oncelog_markers_total", known.aborts, f'{at},outcome="aborted"')
        for error, count in known.refusals.items():
            page.add("oncelog_refused_batches_total", count, f'{at},error="{error.name}"')
        if number % CHUNK == CHUNK - 1:
            yield
    for name, value in zip(names, totals, strict=True):
        page.add(f"{name}_total", value)
        page.add(f"{name}persec", value)
    for name in ("fetchmessageconversions", "producemessageconversions"):
        page.add(f"{_METER_PREFIX}{name}_total", 0)
        page.add(f"{_METER_PREFIX}{name}persec", 0)


def _add_cluster(page: Exposition, broker: Broker, partitions: Sequence[Partition], lag: _Sums) -> None:
    """The series of the cluster: its nodes, partitions, leaders and controller."""
    count, failed, node = len(partitions), lag.failed, broker.node
    cluster = broker.cluster
    members = [cluster.member(known) for known in cluster.node_ids] if cluster is not None else []
    nodes = sum(member.alive for member in members) if members else 1
    fenced = sum(not member.alive for member in members)
    shrinks, expands, unclean = (
        (cluster.shrinks, cluster.expands, cluster.unclean_elections) if cluster is not None else (0, 0, 0)
    )
    for name, value in {
        "kafka_log_logmanager_offlinelogdirectorycount": 1 if failed else 0,
        "kafka_server_replicamanager_partitioncount": count,
        "kafka_server_replicamanager_leadercount": count,
        "kafka_server_replicamanager_offlinereplicacount": failed,
        "kafka_server_replicamanager_underreplicatedpartitions": lag.behind,
        "kafka_server_replicamanager_underminisrpartitioncount": lag.short,
        "kafka_server_replicamanager_atminisrpartitioncount": lag.at_least,
        "kafka_server_replicamanager_isrexpands_total": expands,
        "kafka_server_replicamanager_isrexpandspersec": expands,
        "kafka_server_replicamanager_isrshrinks_total": shrinks,
        "kafka_server_replicamanager_isrshrinkspersec": shrinks,
        "kafka_controller_kafkacontroller_activecontrollercount": 1,
        "kafka_controller_kafkacontroller_activebrokercount": nodes,
        "kafka_controller_kafkacontroller_fencedbrokercount": fenced,
        "kafka_controller_kafkacontroller_globalpartitioncount": count,
        "kafka_controller_kafkacontroller_globaltopiccount": len(broker.metadata.topics()),
        "kafka_controller_kafkacontroller_offlinepartitionscount": lag.offline,
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount": lag.not_preferred,
        "kafka_controller_controllerstats_uncleanleaderelections_total": unclean,
        "kafka_controller_controllerstats_uncleanleaderelectionspersec": unclean,
        "kafka_brokers": nodes,
        "kafka_server_raftmetrics_commit_latency_avg": 0,
        "kafka_server_raftmetrics_current_epoch": broker.metadata.starts + 1,
        "kafka_server_raftmetrics_current_leader": node.node_id,
        "kafka_server_raftmetrics_current_vote": node.node_id,
        "kafka_server_raftmetrics_fetch_records_rate": 0,
        "kafka_server_raftmetrics_high_watermark": broker.metadata.changes,
        "kafka_server_raftmetrics_log_end_offset": broker.metadata.changes,
        "kafka_server_raftchannelmetrics_incoming_byte_total": 0,
        "kafka_server_raftchannelmetrics_outgoing_byte_total": 0,
        "kafka_server_raftchannelmetrics_request_total": 0,
        "kafka_server_raftchannelmetrics_response_total": 0,
        "oncelog_partitions_held_back": lag.held_back,
        "oncelog_producers": lag.producers,
        f"{_TRANSACTIONS}partitions_total_size": lag.state_bytes,
    }.items():
        page.add(name, value)
    for one in [next(iter(member.addresses.values())) for member in members if member.alive] or [node]:
        page.add("kafka_broker_info", 1, labels(id=one.node_id, address=f"{one.host}:{one.port}"))
    page.add("kafka_server_raftmetrics_current_state", 1, 'current_state="leader"')
    page.add("kafka_server_replicafetchermanager_maxlag", lag.not_copied, 'clientid="Replica"')
    page.add("kafka_server_replicafetchermanager_minfetchrate", 0, 'clientid="Replica"')


def _add_shell(page: Exposition, shell: Shell, watch: LoopWatch) -> None:
    """The series of connections, syncs and the event loop itself."""
    broker, counts = shell.broker, shell.counts
    by_listener = dict.fromkeys(counts.opened, 0)
    by_software: dict[tuple[str, str, str], int] = {}
    waiting = 0
    for connection in shell.connected():
        session = connection.session
        by_listener[session.listener] = by_listener.get(session.listener, 0) + 1
        key = (*session.software, session.listener)
        by_software[key] = by_software.get(key, 0) + 1
        waiting += connection.is_waiting
    strimzi, confluent = _SOCKETS
    for listener, count in by_listener.items():
        page.add(f"{strimzi}connection_count", count, labels(listener=listener, networkProcessor=0))
        page.add(f"{confluent}connection_count", count, labels(listener=listener, networkprocessor=0))
        at = labels(listener=listener)
        page.add("oncelog_connections_opened_total", counts.opened.get(listener, 0), at)
        page.add("oncelog_connections_closed_total", counts.closed.get(listener, 0), at)
        page.add("kafka_network_acceptor_acceptorblockedpercent", 0, at)
        page.add(f"{confluent}connection_creation_rate", round(watch.rates.per_second(("opened", listener)), 3), at)
        page.add(f"{confluent}connection_close_rate", round(watch.rates.per_second(("closed", listener)), 3), at)
    for (name, software, listener), count in by_software.items():
        names = labels(clientSoftwareName=name, clientSoftwareVersion=software, listener=listener, networkProcessor=0)
        page.add(f"{strimzi}connections_software", count, names)
        names = labels(client_software_name=name, client_software_version=software, listener=listener)
        page.add(f"{confluent}connections", count, names)
    idle = round(watch.idle, 4)
    page.add("kafka_network_socketserver_networkprocessoravgidle_percent", idle)
    page.add("kafka_network_socketserver_networkprocessoravgidlepercent", idle)
    page.add("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", idle)
    page.add("kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_oneminuterate", idle)
    page.add("kafka_network_requestchannel_requestqueuesize", waiting)
    page.add("kafka_network_requestchannel_responsequeuesize", len(broker.fetches))
    page.add("kafka_server_delayedoperationpurgatory_purgatorysize", len(broker.fetches), 'delayedOperation="Fetch"')
    page.add("kafka_server_fetchsessioncache_numincrementalfetchsessions", len(broker.fetch_sessions))
    evictions = broker.fetch_sessions.evictions
    page.add("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total", evictions)
    page.add("kafka_server_fetchsessioncache_incrementalfetchsessionevictionspersec", evictions)
    page.add("kafka_server_raftmetrics_append_records_rate", round(watch.rates.per_second("metadata"), 3))
    page.add("oncelog_flush_failures_total", counts.flush_failures)
    _add_durations_ms(page, "kafka_log_logflushstats_logflushrateandtimems", counts.flushes)
    _add_durations_s(page, "oncelog_flush_seconds", counts.flushes)
    _add_durations_s(page, "oncelog_event_loop_delay_seconds", watch.delays)
    _add_durations_s(page, "jvm_gc_collection_seconds", watch.collections, 'gc="python"')


def _add_durations_ms(page: Exposition, name: str, durations: Durations, at: str = "") -> None:
    values = durations.quantiles_ms(quantile for _, quantile in QUANTILES)
    points = ((text, round(value, 4)) for (text, _), value in zip(QUANTILES, values, strict=True))
    page.add_summary(name, points, durations.count, None, at)


def _add_durations_s(page: Exposition, name: str, durations: Durations, at: str = "") -> None:
    values = durations.quantiles_ms(quantile for _, quantile in QUANTILES)
    points = ((text, round(value / 1000, 9)) for (text, _), value in zip(QUANTILES, values, strict=True))
    page.add_summary(name, points, durations.count, round(durations.sum_ns / 1e9, 9), at)


def _add_requests(page: Exposition, requests: RequestMetrics) -> None:
    for (api_key, api_version), count in requests.requests.items():
        at = labels(request=_request(api_key), version=api_version)
        page.add(f"{_REQUESTS}requests_total", count, at)
        page.add(f"{_REQUESTS}requestspersec", count, at)
        if api_key == ApiKey.FETCH:
            at = labels(request="FetchConsumer", version=api_version)
            page.add(f"{_REQUESTS}requests_total", count, at)
            page.add(f"{_REQUESTS}requestspersec", count, at)
    for (api_key, code), count in requests.errors.items():
        at = labels(request=_request(api_key), error=Error(code).name)
        page.add(f"{_REQUESTS}errors_total", count, at)
        page.add(f"{_REQUESTS}errorspersec", count, at)
    nothing = Durations()
    names = ("localtimems", "remotetimems", "totaltimems")
    times = {api_key: requests.times(api_key) for api_key in (*ALWAYS_SHOWN, *requests.at_once, *requests.local)}
    for kind, name in enumerate(names):
        for api_key, of_kind in times.items():
            durations = of_kind[kind]
            _add_durations_ms(page, f"{_REQUESTS}{name}", durations, f'request="{_request(api_key)}"')
            if api_key == ApiKey.FETCH:
                _add_durations_ms(page, f"{_REQUESTS}{name}", durations, 'request="FetchConsumer"')
        _add_durations_ms(page, f"{_REQUESTS}{name}", nothing, 'request="FetchFollower"')
    for name in ("requestqueuetimems", "responsequeuetimems", "responsesendtimems"):
        for request in ("Produce", "Fetch", "FetchConsumer", "FetchFollower", "Metadata"):
            _add_durations_ms(page, f"{_REQUESTS}{name}", nothing, f'request="{request}"')
    for api_key in SERVED:
        page.add("oncelog_defects_total", requests.defects.get(api_key, 0), labels(request=_request(api_key)))


def _request(api_key: int) -> str:
    """Kafka's name for an API, such as ``FindCoordinator``."""
    return "".join(part.title() for part in ApiKey(api_key).name.split("_"))


def _add_transactions(
    page: Exposition,
    broker: Broker,
    coordinator: TransactionCoordinator | None,
    watch: LoopWatch,
    fenced: int,
    now_ms: int,
) -> Iterator[None]:
    open_by_state = {TransactionState.ONGOING: 0, **dict.fromkeys(sorted(PREPARED), 0)}
    outcomes: dict[tuple[str, Error], int] = {}
    ended: dict[TransactionState, int] = {}
    ids, oldest_ms = 0, now_ms
    _add_unreadable(page, "transaction", coordinator)
    for shard in list(coordinator.runtime.shards()) if coordinator is not None else ():
        for key, count in shard.outcomes.items():
            outcomes[key] = outcomes.get(key, 0) + count
        for state, count in shard.ended.items():
            ended[state] = ended.get(state, 0) + count
        for number, entry in enumerate(list(shard.entries())):
            ids += 1
            if entry.txn.state in open_by_state:
                open_by_state[entry.txn.state] += 1
                oldest_ms = min(oldest_ms, entry.txn.start_ms)
            if number % (10 * CHUNK) == 0:
                yield
    for state, count in open_by_state.items():
        page.add("oncelog_transactions_open", count, labels(state=state.label))
    page.add("oncelog_transactions_oldest_seconds", (now_ms - oldest_ms) / 1000)
    page.add("oncelog_transactions_ended_total", ended.get(TransactionState.COMPLETE_COMMIT, 0), 'outcome="committed"')
    page.add("oncelog_transactions_ended_total", ended.get(TransactionState.COMPLETE_ABORT, 0), 'outcome="aborted"')
    timeouts = outcomes.get(("Timeout", Error.NONE), 0)
    page.add("oncelog_transactions_timed_out_total", timeouts)
    _add_judgements(page, outcomes, fenced)
    completions = broker.request_metrics.completions if broker.request_metrics is not None else Durations()
    _add_durations_s(page, "oncelog_transaction_completion_seconds", completions)
    state_topic = broker.metadata.topic(TRANSACTION_STATE_TOPIC)
    load_ms = broker.recovery.coordinators_ns / 1e6 / (state_topic.partitions if state_topic is not None else 1)
    (median_ms,) = completions.quantiles_ms([0.5])
    for name, value in {
        "active_transaction_total_time_max": now_ms - oldest_ms,
        "partition_load_time_avg": round(load_ms, 3),
        "partition_load_time_max": round(load_ms, 3),
        "prepare_commit_to_complete_commit_latency": round(median_ms, 3),
        "transaction_state_error_count": sum(
            count for (_, error), count in outcomes.items() if error is Error.INVALID_TXN_STATE
        ),
        "transaction_timeout_count": timeouts,
        "transaction_timeout_rate": round(watch.rates.per_second("timeouts"), 6),
        "transactional_id_count": ids,
    }.items():
        page.add(f"{_TRANSACTIONS}{name}", value)


def _add_unreadable(page: Exposition, name: str, coordinator: GroupCoordinator | TransactionCoordinator | None) -> None:
    count = coordinator.runtime.unreadable if coordinator is not None else 0
    page.add("oncelog_coordinator_partitions_unreadable", count, labels(coordinator=name))


def _add_judgements(page: Exposition, outcomes: Mapping[tuple[str, Error], int], at_partitions: int) -> None:
    """The series of fenced producers, and of the results of verifications."""
    fenced = sum(count for (event, error), count in outcomes.items() if error in FENCED and event != "Timeout")
    page.add("oncelog_fenced_total", fenced, 'where="coordinator"')
    page.add("oncelog_fenced_total", at_partitions, 'where="partition"')
    verified = {True: 0, False: 0}
    for (event, error), count in outcomes.items():
        if event in ("VerifyPartitions", "AddPartitions"):
            verified[error is Error.NONE] += count
    page.add("oncelog_transaction_verifications_total", verified[True], 'result="verified"')
    page.add("oncelog_transaction_verifications_total", verified[False], 'result="refused"')


def _add_groups(page: Exposition, broker: Broker, coordinator: GroupCoordinator | None) -> Iterator[None]:
    states: dict[str, int] = {}
    _add_unreadable(page, "group", coordinator)
    for shard in list(coordinator.runtime.shards()) if coordinator is not None else ():
        for group_id, group in list(shard.groups.items()):
            states[group.state.value] = states.get(group.state.value, 0) + 1
            if isinstance(group, ShareGroup):  # share_series adds the metrics of share groups
                continue
            page.add("kafka_consumergroup_members", len(group.members), labels(consumergroup=group_id))
            for topic, partitions in shard.offsets.topics(group_id):
                for number, (index, committed) in enumerate(sorted(partitions.items())):
                    partition = broker.partition(TopicPartition(topic, index))
                    # a negative offset is the marker of a Spark sink, not a position
                    if partition is None or committed.offset < 0:
                        continue
                    log, offset = partition.log, committed.offset
                    at = labels(consumergroup=group_id, topic=topic, partition=index)
                    page.add("kafka_consumergroup_current_offset", offset, at)
                    page.add("kafka_consumergroup_lag", max(log.high_watermark - offset, 0), at)
                    page.add("oncelog_consumergroup_stable_lag", max(log.last_stable_offset - offset, 0), at)
                    if number % CHUNK == CHUNK - 1:
                        yield
            yield
    prefix = "kafka_coordinator_group_groupmetadatamanager_numgroups"
    page.add(prefix, sum(states.values()))
    preparing = sum(states.get(state, 0) for state in ("PreparingRebalance", "Assigning"))
    completing = sum(states.get(state, 0) for state in ("CompletingRebalance", "Reconciling"))
    page.add(f"{prefix}preparingrebalance", preparing)
    page.add(f"{prefix}completingrebalance", completing)
    for state in ("Dead", "Empty", "Stable"):
        page.add(f"{prefix}{state.lower()}", states.get(state, 0))


def _add_quotas(page: Exposition, broker: Broker, watch: LoopWatch) -> None:
    if broker.throttle is None:
        return
    kinds = {
        "producer_byte_rate": ("kafka_server_produce_byte_rate", "kafka_server_produce_throttle_time"),
        "consumer_byte_rate": ("kafka_server_fetch_byte_rate", "kafka_server_fetch_throttle_time"),
        "request_percentage": ("kafka_server_request_request_time", "kafka_server_request_throttle_time"),
        "controller_mutation_rate": (
            "kafka_server_controllermutation_mutation_rate",
            "kafka_server_controllermutation_throttle_time",
        ),
    }
    for owner, bucket in broker.throttle.buckets.items():
        kind, user, client_id = owner
        rate, wait = kinds[kind]
        at = labels(user=user or "", client_id=client_id or "")
        page.add(rate, round(watch.rates.per_second(owner), 3), at)
        page.add(wait, bucket.last_wait_ms, at)
