"""The checks of ``oncelog doctor --bootstrap-server``: risks to exactly-once in a cluster of oncelog or Apache Kafka.

The checks only read. If the user may not see something, that is a finding, too, and the other checks continue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from oncelog.cli.doctor.findings import DoctorFinding, bad, warn
from oncelog.cli.shared.held_back import UNFINISHED
from oncelog.cli.shared.output import counted
from oncelog.client.blocking import Admin
from oncelog.client.core.admin.admin_types import ConfigEntry, ConfigResource, ConfigResourceType, TopicDescription
from oncelog.errors import Error, KafkaError, OncelogError
from oncelog.protocol.api_keys import ApiKey
from oncelog.runtime import real_time
from oncelog.types import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition

SHORTEST_OFFSETS_RETENTION_MIN = 7 * 24 * 60
"""Kafka's default for the retention of committed offsets, in minutes. A marker of Spark's sink is a committed offset,
so a query must not be stopped for longer."""
SHORTEST_TRANSACTION_LIMIT_MS = 60_000
LONG_TRANSACTION_LIMIT_MS = 60 * 60_000
OLD_TRANSACTION_S = 300
MAX_NAMED = 5
EARLIEST = -2
SKEW_MS = 60_000
KEEPS_PREPARED = 6
"""The version of InitProducerId from which a producer can find the transaction that an earlier producer prepared
(KIP-939)."""


def findings(admin: Admin, pause_min: int) -> Iterator[DoctorFinding]:
    """The findings about a cluster.

    :param pause_min: the longest time that a query may be stopped, in minutes.
    """
    cluster = admin.describe_cluster()
    yield DoctorFinding(
        "cluster", f"{cluster.cluster_id}, {counted(len(cluster.nodes), 'node')}, controller {cluster.controller_id}"
    )
    checks: Sequence[Callable[[], Iterator[DoctorFinding]]] = (
        lambda: _features(admin),
        lambda: _rows_and_records(admin),
        lambda: _settings(admin, [node.node_id for node in cluster.nodes], pause_min),
        lambda: _topics(admin),
        lambda: _transactions(admin),
        lambda: _groups(admin),
    )
    for check in checks:
        try:
            yield from check()
        except OncelogError as error:
            yield warn("cluster", f"could not be checked completely: {error}", _remedy(error))


def _remedy(error: OncelogError) -> str:
    if _not_offered(error):
        return "upgrade the brokers"
    if isinstance(error, KafkaError) and error.error.name.endswith("AUTHORIZATION_FAILED"):
        return "use a principal that may describe it"
    return "run the command again when the brokers answer"


def _not_offered(error: OncelogError) -> bool:
    return isinstance(error, KafkaError) and error.error is Error.UNSUPPORTED_VERSION


_LATE = (
    "a transaction can include what its id sent late for an aborted one (KIP-890); the sink for Spark and the mirror "
    "exclude that"
)


def _features(admin: Admin) -> Iterator[DoctorFinding]:
    """Report what the cluster's version can do, judged by its finalized features, because brokers do not report their
    release."""
    features = admin.describe_features()
    if not features:
        yield warn(
            "cluster's version",
            "no features: older than Apache Kafka 3.0, or in a migration",
            f"Apache Kafka 4.0 or newer: in older ones {_LATE}",
        )
        return
    levels = ", ".join(f"{name} {one.level}" for name, one in sorted(features.items()))
    transactions = features.get("transaction.version")
    if transactions is None or transactions.level < 2:
        todo = (
            "kafka-features.sh upgrade --feature transaction.version=2"
            if transactions is not None and transactions.highest >= 2
            else "Apache Kafka 4.0 or newer has transaction.version 2"
        )
        yield warn(
            "cluster's version",
            f"{levels}: {_LATE}",
            todo,
        )
    else:
        yield DoctorFinding("cluster's version", levels)


def _rows_and_records(admin: Admin) -> Iterator[DoctorFinding]:
    """Report which methods of ``oncelog.atomic`` the cluster allows; an outbox and an inbox are possible on any
    cluster."""
    _, highest = admin.describe_api_versions().get(ApiKey.INIT_PRODUCER_ID, (0, -1))
    transactions = admin.describe_features().get("transaction.version")
    if highest >= KEEPS_PREPARED and transactions is not None and transactions.level >= 2:
        yield DoctorFinding("rows and records", "by two-phase commit, an outbox or an inbox")
    else:
        yield DoctorFinding(
            "rows and records",
            "by an outbox or an inbox only; two-phase commit needs a broker of oncelog with "
            "transaction.two.phase.commit.enable=true and transaction.version 2",
        )


def _clocks(admin: Admin, partitions: Sequence[TopicPartition]) -> Iterator[DoctorFinding]:
    """Find records with timestamps in the future, which show that a clock is wrong, on this machine or at the
    producer."""
    now_ms = real_time.time_ms()
    later = admin.list_offsets(dict.fromkeys(partitions, now_ms + SKEW_MS)) if partitions else {}
    ahead = {name: found.timestamp - now_ms for name, found in later.items() if found.offset >= 0}
    if ahead:
        most = max(ahead, key=ahead.__getitem__)
        yield warn(
            "cluster's clock",
            f"{most} has a record with a timestamp {ahead[most] / 1000:.0f} s in the future; {len(ahead)} partitions "
            "have such records",
            "correct the clock here, or on the machine that wrote the record: retention by time keeps such records "
            "longer",
        )
    else:
        yield DoctorFinding("cluster's clock", "no record has a timestamp in the future")


def _settings(admin: Admin, nodes: Sequence[int], pause_min: int) -> Iterator[DoctorFinding]:
    described = admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, str(node)) for node in nodes])
    for resource, entries in described.items():
        yield from _of_broker(f"broker {resource.name}", _values(entries), pause_min)


def _of_broker(where: str, values: Mapping[str, str], pause_min: int) -> Iterator[DoctorFinding]:
    if values.get("unclean.leader.election.enable") == "true":
        yield bad(
            where,
            "unclean.leader.election.enable=true: a replica that lacks acknowledged records may become leader",
            "set it to false",
        )
    given = values.get("offsets.retention.minutes")
    retention = int(given or SHORTEST_OFFSETS_RETENTION_MIN)
    if not given:
        yield warn(
            where,
            "offsets.retention.minutes cannot be read: it is unknown how long the marker of a Spark query lives",
            "set the sink's option offsetsRetentionMinutes to what the provider promises",
        )
    if retention < pause_min:
        yield bad(
            where,
            f"offsets.retention.minutes={retention}: a query that is stopped for {pause_min} minutes loses its marker",
            f"set it to more than {pause_min}, or never stop a query for longer",
        )
    limit = int(values.get("transaction.max.timeout.ms") or 900_000)
    if limit < SHORTEST_TRANSACTION_LIMIT_MS:
        yield bad(
            where,
            f"transaction.max.timeout.ms={limit}: producers ask for {SHORTEST_TRANSACTION_LIMIT_MS} and are refused",
            "raise it, or lower transaction.timeout.ms of every producer",
        )
    elif limit > LONG_TRANSACTION_LIMIT_MS:
        yield warn(
            where,
            f"transaction.max.timeout.ms={limit}: a producer that died may hold readers back for that long",
            "lower it to what the longest transaction needs",
        )
    replicas, in_sync = (
        values.get("transaction.state.log.replication.factor"),
        values.get("transaction.state.log.min.isr"),
    )
    if replicas is not None and in_sync is not None and int(replicas) >= 3 and int(in_sync) < 2:
        yield bad(
            where,
            f"transaction.state.log.min.isr={in_sync} with {replicas} replicas: one failure can lose a commit",
            "set it to 2 before __transaction_state is created",
        )


def _topics(admin: Admin) -> Iterator[DoctorFinding]:
    topics = admin.describe_topics(admin.list_topics(internal=True))
    described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics])
    settings = {resource.name: _values(entries) for resource, entries in described.items()}
    without_leader = [_name(topic, part.partition) for topic in topics for part in topic.partitions if part.leader < 0]
    short = [
        _name(topic, part.partition)
        for topic in topics
        for part in topic.partitions
        if len(part.isr) < len(part.replicas)
    ]
    one_in_sync = [
        topic.name
        for topic in topics
        if _replication(topic) >= 3 and int(settings.get(topic.name, {}).get("min.insync.replicas") or 1) < 2
    ]
    unclean = [name for name, values in settings.items() if values.get("unclean.leader.election.enable") == "true"]
    deleted = [
        name
        for name, values in settings.items()
        if name in (CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC) and "delete" in values.get("cleanup.policy", "")
    ]
    yield DoctorFinding("topics", f"{len(topics)}, {sum(len(topic.partitions) for topic in topics)} partitions")
    yield from _clocks(admin, _led(topics))
    for found, text, todo in (
        (without_leader, "partitions without a leader", "start the nodes that hold them, or repair their disks"),
        (
            deleted,
            "internal topics that lose markers and commits",
            "cleanup.policy=compact",
        ),
    ):
        if found:
            yield bad("topics", f"{text}: {_listed(found)}", todo)
    for found, text, todo in (
        (unclean, "unclean.leader.election.enable=true", "set it to false: acknowledged records may be lost"),
        (one_in_sync, "3 replicas and min.insync.replicas=1: acks=all may mean one disk", "set min.insync.replicas=2"),
    ):
        if found:
            yield bad("topics", f"{text}: {_listed(found)}", todo)
    if short:
        yield warn("topics", f"replicas out of sync: {_listed(short)}", "look at the nodes that lag behind")


def _transactions(admin: Admin) -> Iterator[DoctorFinding]:
    partitions = _led(admin.describe_topics(admin.list_topics(internal=True)))
    now_ms = real_time.time_ms()
    try:
        listed = [one.transactional_id for one in admin.list_transactions() if one.state in UNFINISHED]
    except OncelogError as error:
        if not _not_offered(error):
            raise
        yield warn("transactions", f"cannot be listed: {error}", _remedy(error))
        yield from _long_open(admin, partitions, now_ms)
        return
    hanging = admin.find_hanging_transactions(partitions) if partitions else []
    if not hanging:
        yield DoctorFinding("transactions", f"{len(listed)} open")
    for one in admin.describe_transactions(listed) if listed else []:
        age_s = (now_ms - one.start_time_ms) / 1000 if one.start_time_ms >= 0 else 0
        if age_s > OLD_TRANSACTION_S:
            yield warn(
                "transactions",
                f"{one.transactional_id!r} has been {one.state} for {age_s:.0f} s, in {len(one.partitions)} partitions",
                "oncelog transactions describe shows it; its producer or its timeout will end it",
            )
    for name, producer in hanging[:MAX_NAMED]:
        yield bad(
            "transactions",
            f"{name} has a transaction of producer {producer.producer_id} from {producer.transaction_start_offset} on "
            "that no coordinator knows: read_committed readers wait there forever",
            f"oncelog transactions abort --topic {name.topic} --partition {name.partition} "
            f"--start-offset {producer.transaction_start_offset}",
        )


def _long_open(admin: Admin, partitions: Sequence[TopicPartition], now_ms: int) -> Iterator[DoctorFinding]:
    """Warn about transactions in which nothing was written for long, if coordinators cannot list the transactions that
    they know."""
    described = admin.describe_producers(partitions) if partitions else {}
    found = [
        (name, producer, (now_ms - producer.last_timestamp) / 1000)
        for name, producers in described.items()
        for producer in producers
        if producer.transaction_start_offset >= 0 and now_ms - producer.last_timestamp > OLD_TRANSACTION_S * 1000
    ]
    for name, producer, age_s in found[:MAX_NAMED]:
        yield warn(
            "transactions",
            f"{name} has a transaction of producer {producer.producer_id} from {producer.transaction_start_offset} on "
            f"in which nothing was written for {age_s:.0f} s: read_committed readers wait there",
            "its producer or its timeout should end it; if neither has, the transaction hangs: oncelog transactions "
            f"abort --force --topic {name.topic} --partition {name.partition} "
            f"--start-offset {producer.transaction_start_offset}",
        )


def _groups(admin: Admin) -> Iterator[DoctorFinding]:
    groups = admin.list_consumer_groups()
    yield DoctorFinding("groups", f"{len(groups)}")
    led = set(_led(admin.describe_topics(admin.list_topics(internal=True)))) if groups else set()
    for listing in groups:
        offsets = admin.list_consumer_group_offsets(listing.group_id)
        committed = {name: one.offset for name, one in offsets.items() if name in led}
        if not committed:
            continue
        try:
            starts = admin.list_offsets(dict.fromkeys(committed, EARLIEST))
        except OncelogError:
            continue  # a topic of the group was deleted
        lost = [str(name) for name, offset in committed.items() if 0 <= offset < starts[name].offset]
        if lost:
            yield warn(
                "groups",
                f"{listing.group_id!r} has committed offsets whose records were removed by retention: {_listed(lost)}",
                "the group then starts where auto.offset.reset says: reset its offsets with oncelog groups "
                "reset-offsets, or keep records longer",
            )


def _led(topics: Iterable[TopicDescription]) -> list[TopicPartition]:
    """The partitions that have a leader. The others are reported, and no request waits for them."""
    return [
        TopicPartition(topic.name, part.partition) for topic in topics for part in topic.partitions if part.leader >= 0
    ]


def _values(entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    return {name: entry.value or "" for name, entry in entries.items()}


def _replication(topic: TopicDescription) -> int:
    return max((len(part.replicas) for part in topic.partitions), default=0)


def _name(topic: TopicDescription, partition: int) -> str:
    return f"{topic.name}-{partition}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
