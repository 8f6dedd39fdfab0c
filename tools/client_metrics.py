"""The clients' own metrics (``Producer.metrics()``, ``Consumer.metrics()``), for the page of metrics.

The metrics have Kafka's groups and names. A name that ends in ``-`` stands for several names, one for each given
ending. A test compares the tables with the clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

METER = ("total", "rate")
SPREAD = ("avg", "max")
ONE = ("",)

_Table = Mapping[str, tuple[tuple[str, ...], str]]
_CONNECTIONS: _Table = {
    "connection-count": (ONE, "Usable connections."),
    "connection-creation-": (METER, "Connections made."),
    "connection-close-": (METER, "Connections that ended."),
    "request-": (METER, "Requests sent, with logins and metadata."),
    "request-size-": (SPREAD, "Bytes of a request."),
    "outgoing-byte-": (METER, "Bytes sent."),
    "response-": (METER, "Answers received."),
    "incoming-byte-": (METER, "Bytes received."),
}
_NODE: _Table = {name: entry for name, entry in _CONNECTIONS.items() if not name.startswith("connection")} | {
    "request-latency-": (SPREAD, "Milliseconds from a request to its answer."),
}

GROUPS: Mapping[str, tuple[str, _Table]] = {
    "producer-metrics": (
        "a producer",
        {
            **_CONNECTIONS,
            "record-send-": (METER, "Records sent, without retries."),
            "record-retry-": (METER, "Retried records."),
            "record-error-": (METER, "Failed records."),
            "batch-size-": (SPREAD, "Compressed bytes of a batch."),
            "batch-split-": (METER, "Batches that were too large for a broker and were split."),
            "compression-rate-avg": (ONE, "Compressed size of batches divided by their size."),
            "record-queue-time-": (SPREAD, "Milliseconds from a batch's first record until it was sent."),
            "request-latency-": (SPREAD, "Milliseconds from a Produce request to its answer."),
            "records-per-request-avg": (ONE, "Records in a Produce request."),
            "requests-in-flight": (ONE, "Produce requests without an answer."),
            "produce-throttle-time-": (
                SPREAD,
                "Milliseconds that a broker's quota asked to wait.",
            ),
            "buffer-total-bytes": (ONE, "`buffer.memory`."),
            "buffer-available-bytes": (ONE, "Free bytes of it."),
            "metadata-age": (ONE, "Seconds since the last metadata answer."),
            "flush-time-ns-total": (ONE, "Nanoseconds that the program waited in `flush()`."),
            "txn-init-time-ns-total": (ONE, "Nanoseconds until the producer had its id."),
            "txn-send-offsets-time-ns-total": (ONE, "Nanoseconds in `send_offsets_to_transaction()`."),
            "txn-prepare-time-ns-total": (ONE, "Nanoseconds in `prepare()`, of two-phase commit."),
            "txn-commit-time-ns-total": (ONE, "Nanoseconds in `commit_transaction()`."),
            "txn-abort-time-ns-total": (ONE, "Nanoseconds in `abort_transaction()`."),
        },
    ),
    "producer-node-metrics.node-ID": ("a producer, by node (negative: a bootstrap server)", _NODE),
    "producer-topic-metrics.TOPIC": (
        "each topic",
        {
            "record-send-": (METER, "Records sent."),
            "byte-": (METER, "Bytes of batches sent, without retries."),
            "record-retry-": (METER, "Retried records."),
            "record-error-": (METER, "Failed records."),
            "compression-rate": (ONE, "Compressed size of batches divided by their size."),
        },
    ),
    "consumer-metrics": (
        "a consumer",
        {
            **_CONNECTIONS,
            "time-between-poll-": (SPREAD, "Milliseconds between two polls of the program."),
            "last-poll-seconds-ago": (ONE, "Seconds since the last poll, or -1."),
            "commit-sync-time-ns-total": (ONE, "Nanoseconds that the program waited in `commit()`."),
            "committed-time-ns-total": (ONE, "Nanoseconds that the program waited for committed offsets."),
        },
    ),
    "consumer-node-metrics.node-ID": ("a consumer, by node (negative: a bootstrap server)", _NODE),
    "consumer-fetch-manager-metrics": (
        "what a consumer reads",
        {
            "records-consumed-": (METER, "Records given to the program."),
            "bytes-consumed-": (METER, "Bytes of batches received."),
            "records-lag-max": (ONE, "The largest `records-lag` of its partitions now."),
            "records-per-request-avg": (ONE, "Records for each Fetch."),
            "fetch-": (METER, "Fetches answered."),
            "fetch-latency-": (SPREAD, "Milliseconds to the answer, with the wait for records."),
            "fetch-size-": (SPREAD, "Bytes of records in an answer."),
            "fetch-throttle-time-": (
                SPREAD,
                "Milliseconds that a broker's quota asked to wait.",
            ),
        },
    ),
    "consumer-fetch-manager-metrics.TOPIC": (
        "each topic",
        {
            "records-consumed-": (METER, "Records given to the program."),
            "bytes-consumed-": (METER, "Bytes of batches received."),
            "fetch-size-": (SPREAD, "Bytes of records of one partition in an answer."),
        },
    ),
    "consumer-fetch-manager-metrics.TOPIC-PARTITION": (
        "each assigned partition",
        {
            "records-lag": (
                ONE,
                "Offsets between the program's position and the last stable offset (`read_committed`) or the high "
                "watermark.",
            ),
            "records-lead": (ONE, "Offsets between the log's start and the program's position."),
        },
    ),
    "consumer-coordinator-metrics": (
        "its group",
        {
            "assigned-partitions": (ONE, "Partitions that it reads now."),
            "heartbeat-": (METER, "Heartbeats answered."),
            "heartbeat-response-time-max": (ONE, "Milliseconds."),
            "join-": (METER, "JoinGroups answered; always 0 in the new group protocol."),
            "join-time-": (SPREAD, "Milliseconds, with the wait for other members."),
            "sync-": (METER, "SyncGroups answered; always 0 in the new group protocol."),
            "sync-time-": (SPREAD, "Milliseconds."),
            "commit-": (METER, "Commits of offsets answered, with automatic ones."),
            "commit-latency-": (SPREAD, "Milliseconds."),
            "rebalance-total": (ONE, "Assignments received."),
            "rebalance-rate-per-hour": (ONE, "Assignments received an hour."),
            "rebalance-latency-": (SPREAD, "Milliseconds between two assignments."),
            "rebalance-latency-total": (ONE, "Sum of `rebalance-latency`."),
            "last-rebalance-seconds-ago": (ONE, "Seconds since the last assignment, or -1."),
        },
    ),
}


def names(group: str) -> set[str]:
    """All metric names of a group."""
    return {stem + ending for stem, (endings, _) in GROUPS[group][1].items() for ending in endings}


def page() -> Iterator[str]:
    """The lines of the page's section about the clients. Rows that several groups share appear once."""
    connected = [group for group, (_, table) in GROUPS.items() if "connection-count" in table]
    nodes = [group for group, (_, table) in GROUPS.items() if table is _NODE]
    yield from _section(connected, "connections", _CONNECTIONS)
    for group, (title, table) in GROUPS.items():
        if group not in nodes:
            shared = _CONNECTIONS if group in connected else {}
            own = {stem: entry for stem, entry in table.items() if stem not in shared}
            yield from _section([group], title, own)
    yield from _section(nodes, "each node (negative: a bootstrap server)", _NODE)


def _section(groups: list[str], title: str, table: _Table) -> Iterator[str]:
    yield f"\n### {', '.join(f'`{group}`' for group in groups)}: {title}\n"
    yield "| names | meaning |"
    yield "|---|---|"
    for stem, (endings, text) in table.items():
        yield f"| {', '.join(f'`{stem}{ending}`' for ending in endings)} | {text} |"
