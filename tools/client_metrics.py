"""What clients count of themselves (``Producer.metrics()``, ``Consumer.metrics()``), as the page of metrics tells it.

Kafka's groups and names; a name that ends in ``-`` stands for those with each of the endings given. A test holds the
tables to what clients tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

METER = ("total", "rate")
SPREAD = ("avg", "max")
ONE = ("",)

_Table = Mapping[str, tuple[tuple[str, ...], str]]
_CONNECTIONS: _Table = {
    "connection-count": (ONE, "Connections that can be used now."),
    "connection-creation-": (METER, "Connections made."),
    "connection-close-": (METER, "Connections that ended."),
    "request-": (METER, "Requests sent, those of logins and of metadata among them."),
    "request-size-": (SPREAD, "Bytes of a request."),
    "outgoing-byte-": (METER, "Bytes sent."),
    "response-": (METER, "Answers received."),
    "incoming-byte-": (METER, "Bytes received."),
}
_NODE: _Table = {name: entry for name, entry in _CONNECTIONS.items() if not name.startswith("connection")} | {
    "request-latency-": (SPREAD, "Milliseconds from a request that went out to its answer."),
}

GROUPS: Mapping[str, tuple[str, _Table]] = {
    "producer-metrics": (
        "a producer",
        {
            **_CONNECTIONS,
            "record-send-": (METER, "Records sent, each once however often it was repeated."),
            "record-retry-": (METER, "Records that were sent again."),
            "record-error-": (METER, "Records that were given up; each record's future says so."),
            "batch-size-": (SPREAD, "Bytes of a batch as sent, so compressed."),
            "batch-split-": (METER, "Batches that a broker found too large and that went as two."),
            "compression-rate-avg": (ONE, "Size of batches as sent by their size before: 1 without compression."),
            "record-queue-time-": (SPREAD, "Milliseconds that a batch waited from its first record until it was sent."),
            "request-latency-": (SPREAD, "Milliseconds from a Produce request to its answer."),
            "records-per-request-avg": (ONE, "Records in a Produce request."),
            "requests-in-flight": (ONE, "Produce requests that wait for an answer now."),
            "produce-throttle-time-": (
                SPREAD,
                "Milliseconds that a broker asked to wait (quotas), if it did.",
            ),
            "buffer-total-bytes": (ONE, "`buffer.memory`."),
            "buffer-available-bytes": (ONE, "What is left of it now."),
            "metadata-age": (ONE, "Seconds since the last metadata answer."),
            "flush-time-ns-total": (ONE, "Nanoseconds that the program waited in `flush()`."),
            "txn-init-time-ns-total": (ONE, "Nanoseconds until there was a producer id."),
            "txn-send-offsets-time-ns-total": (ONE, "Nanoseconds in `send_offsets_to_transaction()`."),
            "txn-prepare-time-ns-total": (ONE, "Nanoseconds in `prepare()`, of two-phase commit."),
            "txn-commit-time-ns-total": (ONE, "Nanoseconds in `commit_transaction()`."),
            "txn-abort-time-ns-total": (ONE, "Nanoseconds in `abort_transaction()`."),
        },
    ),
    "producer-node-metrics.node-ID": ("a producer, by node (negative: a bootstrap server)", _NODE),
    "producer-topic-metrics.TOPIC": (
        "a producer, by topic",
        {
            "record-send-": (METER, "Records sent."),
            "byte-": (METER, "Bytes of batches sent, repeated ones once."),
            "record-retry-": (METER, "Records that were sent again."),
            "record-error-": (METER, "Records that were given up."),
            "compression-rate": (ONE, "Size of batches as sent by their size before."),
        },
    ),
    "consumer-metrics": (
        "a consumer",
        {
            **_CONNECTIONS,
            "time-between-poll-": (SPREAD, "Milliseconds between two questions of the program for records."),
            "last-poll-seconds-ago": (ONE, "Seconds since the last poll, or -1 if there was none yet."),
            "commit-sync-time-ns-total": (ONE, "Nanoseconds that the program waited in `commit()`."),
            "committed-time-ns-total": (ONE, "Nanoseconds that committed offsets were waited for."),
        },
    ),
    "consumer-node-metrics.node-ID": ("a consumer, by node (negative: a bootstrap server)", _NODE),
    "consumer-fetch-manager-metrics": (
        "what a consumer reads",
        {
            "records-consumed-": (METER, "Records read from batches for the program."),
            "bytes-consumed-": (METER, "Bytes of batches received, compressed if they are."),
            "records-lag-max": (ONE, "The largest `records-lag` of its partitions now."),
            "records-per-request-avg": (ONE, "Records for each Fetch."),
            "fetch-": (METER, "Fetches answered."),
            "fetch-latency-": (SPREAD, "Milliseconds to the answer, waiting for records included."),
            "fetch-size-": (SPREAD, "Bytes of records in an answer."),
            "fetch-throttle-time-": (
                SPREAD,
                "Milliseconds that a broker asked to wait (quotas), if it did.",
            ),
        },
    ),
    "consumer-fetch-manager-metrics.TOPIC": (
        "what a consumer reads, by topic",
        {
            "records-consumed-": (METER, "Records read from batches for the program."),
            "bytes-consumed-": (METER, "Bytes of batches received."),
            "fetch-size-": (SPREAD, "Bytes of records of one partition in an answer."),
        },
    ),
    "consumer-fetch-manager-metrics.TOPIC-PARTITION": (
        "what a consumer reads, by partition it is assigned",
        {
            "records-lag": (
                ONE,
                "Offsets between the program's position and the end in the last answer: the last stable offset "
                "under `read_committed`, otherwise the high watermark.",
            ),
            "records-lead": (ONE, "Offsets between the log's start and what the program was handed."),
        },
    ),
    "consumer-coordinator-metrics": (
        "a consumer's place in its group",
        {
            "assigned-partitions": (ONE, "Partitions that it reads now."),
            "heartbeat-": (METER, "Heartbeats answered."),
            "heartbeat-response-time-max": (ONE, "Milliseconds."),
            "join-": (METER, "JoinGroups answered; always 0 in the new group protocol."),
            "join-time-": (SPREAD, "Milliseconds, waiting for the others included."),
            "sync-": (METER, "SyncGroups answered; always 0 in the new group protocol."),
            "sync-time-": (SPREAD, "Milliseconds."),
            "commit-": (METER, "Commits of offsets answered, automatic ones among them."),
            "commit-latency-": (SPREAD, "Milliseconds."),
            "rebalance-total": (ONE, "Assignments received."),
            "rebalance-rate-per-hour": (ONE, "The same, an hour."),
            "rebalance-latency-": (SPREAD, "Milliseconds from giving up partitions to the next assignment."),
            "rebalance-latency-total": (ONE, "Their sum."),
            "last-rebalance-seconds-ago": (ONE, "Seconds since the last assignment, or -1 if there was none yet."),
        },
    ),
}


def names(group: str) -> set[str]:
    """Every name of a group."""
    return {stem + ending for stem, (endings, _) in GROUPS[group][1].items() for ending in endings}


def page() -> Iterator[str]:
    """The lines of the page's section."""
    for group, (of_what, table) in GROUPS.items():
        yield f"\n### `{group}`: {of_what}\n"
        yield "| names | what they say |"
        yield "|---|---|"
        for stem, (endings, text) in table.items():
            yield f"| {', '.join(f'`{stem}{ending}`' for ending in endings)} | {text} |"
