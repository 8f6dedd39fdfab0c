"""Write ``docs/reference/spark-options.md`` from the tables of options; ``--check`` says whether it is up to date.

Compares every option and column of ``format("oncelog")`` with those of Spark's own Kafka connector, 4.x
(``KafkaSourceProvider``, ``KafkaOffsetReaderAdmin``, ``KafkaWriter``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from oncelog.spark.client_properties import CONSUMER_PROPERTIES, PRODUCER_PROPERTIES, SparkProperty
from oncelog.spark.options import REFUSED_OPTIONS, REFUSED_SINK_OPTIONS, SINK_OPTIONS, SOURCE_OPTIONS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "spark-options.md"

INTRODUCTION = """\
# Spark options, compared with Spark's own Kafka connector

Made by `python -m tools.document_spark` from the tables that the options are checked with; do not edit.

The comparison is with `spark-sql-kafka-0-10` of Spark 4.x. Every option either does what it says or is refused with its
name, the reason and the next step. No option is accepted and then ignored.

"""


class Option(NamedTuple):
    """What Spark's connector does (empty: it has no such option), and what is different here."""

    spark: str
    here: str = "the same"


SOURCE: Mapping[str, Option] = {
    "subscribe": Option("topics, by commas"),
    "subscribePattern": Option(
        "`java.util.regex`", "the same; nested classes, `&&` and rare escapes are refused by name, with the reason"
    ),
    "assign": Option('JSON `{"t": [0, 1]}`'),
    "startingOffsets": Option("`latest` for a stream, `earliest` for a batch"),
    "endingOffsets": Option(
        "`latest`; batch only. Beyond the end the task waits, then fails",
        "fails when it is planned; with `failOnDataLoss` `false` it reads what is there, as there",
    ),
    "startingTimestamp": Option("goes before the two below"),
    "endingTimestamp": Option("goes before the two below"),
    "startingOffsetsByTimestamp": Option("JSON, a timestamp for each partition"),
    "endingOffsetsByTimestamp": Option("JSON, a timestamp for each partition"),
    "startingOffsetsByTimestampStrategy": Option("`error` or `latest`"),
    "maxOffsetsPerTrigger": Option("shared out by what each partition holds; ignored by a batch", "a batch refuses it"),
    "minOffsetsPerTrigger": Option(
        "waits for so many, but not when a query starts; ignored by a batch", "a batch refuses it"
    ),
    "maxTriggerDelay": Option("`15m`; ignored by a batch", "a batch refuses it"),
    "minPartitions": Option("cuts partitions into more tasks"),
    "maxRecordsPerPartition": Option("cuts partitions into more tasks"),
    "failOnDataLoss": Option("`true`; offsets of markers and aborted records may look like a loss", "they never do"),
    "includeHeaders": Option("`false`"),
    "includeTimestampMillis": Option(
        "",
        "a column `timestampMillis`, the record's time as Kafka has it; `timestamp` is null beyond the year 294247, "
        "where the read stops without this option",
    ),
    "commitOffsetsToGroup": Option(
        "", "commits the position to a consumer group after each batch, including the last one"
    ),
    "fetchOffset.numRetries": Option(
        "3", "without it, offsets are asked for until `kafka.default.api.timeout.ms` is over"
    ),
    "fetchOffset.retryIntervalMs": Option("1000"),
    "kafkaConsumer.pollTimeoutMs": Option("`spark.network.timeout`, 120 s", "120000"),
}

SINK: Mapping[str, Option] = {
    "topic": Option("goes before the column `topic`"),
    "topics": Option("", "the topics that rows may name, by commas; without it every topic's partition count travels"),
    "checkpointLocation": Option("Spark's"),
    "queryName": Option("Spark's"),
    "transactionalIdPrefix": Option("", "how transactional id and marker group begin "),
    "batchId": Option("", "for a batch write: written once, however often it is repeated"),
    "maxBatchBytes": Option("", "the most encoded bytes that a batch sends through the driver (256 MiB)"),
    "writers": Option(
        "", "for `for_each_batch` and `write`: how many tasks write; 0: the driver, `auto`: depends on the size"
    ),
    "onMissingMarker": Option("", "`fail`, `write` or `skip`, if the marker of a batch is gone"),
    "onFullRefresh": Option(
        "", "`fail`, `append` or `after`, if a flow of a declarative pipeline is refreshed in full"
    ),
    "offsetsRetentionMinutes": Option(
        "", "the broker's `offsets.retention.minutes`, if the query may not read it from the broker"
    ),
    "markerTopic": Option("", "the topic under which the marker is kept"),
    "createTopics": Option("", "how topics that do not exist are created, as JSON; without it they are refused"),
}

INTERNAL = {"microBatch", "sinkName"}
"""Options of the sink that ``for_each_batch`` sets; users set none of them."""

COLUMNS = """\
## Columns

| column | reading | writing | beside Spark's connector |
|---|---|---|---|
| `key` | binary | string or binary | the same; the partition of a key is the one Java's producer chooses |
| `value` | binary | string or binary, required | the same |
| `topic` | string | string | the same |
| `partition` | int | int | the same; one that does not exist is refused before anything is written |
| `offset` | long | ignored | the same |
| `timestamp` | timestamp | ignored | the same: a record's time is that of its writing. |
| `timestampType` | int | ignored | the same |
| `headers` | array<struct<key, value>>, with `includeHeaders` | this or a map, of text or bytes | no maps, no text |
| `timestampMillis` | long, with `includeTimestampMillis` | ignored | |
| any other | | ignored | the same |
| a name in another case, `VALUE` | | used if no column has the exact name | ignored, and `value` is missing |

A [SQL table](../how-to/sql.md) has the options of both lists but those of queries. Its INSERT also takes `timestamp`,
the record's time, and refuses a value in `offset` and `timestampType`, which `format("oncelog")` ignores.

Output modes: Append and Complete with `format("oncelog")`, Update with `for_each_batch`. Spark's connector takes all
three with `format("kafka")`. Continuous processing is not offered. Delivery is exactly-once; Spark's connector writes
at least once.

"""


def main() -> int:
    page = "\n".join(_page())
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python -m tools.document_spark\n")
        return 1
    PAGE.write_text(page)
    return 0


def _page() -> Iterator[str]:
    yield INTRODUCTION
    yield "## Options of reading\n"
    yield from _options(SOURCE_OPTIONS, SOURCE, REFUSED_OPTIONS)
    yield "\n## Options of writing\n"
    public = tuple(name for name in SINK_OPTIONS if name not in INTERNAL)
    yield from _options(public, SINK, REFUSED_SINK_OPTIONS)
    yield ""
    yield COLUMNS
    yield "## Kafka's client properties of reading\n"
    yield "Given as `kafka.NAME`. Spark's connector hands all of them to Java's client.\n"
    yield from _properties(CONSUMER_PROPERTIES)
    yield "\n## Kafka's client properties of writing\n"
    yield from _properties(PRODUCER_PROPERTIES)
    yield ""


def _options(known: tuple[str, ...], table: Mapping[str, Option], refused: Mapping[str, str]) -> Iterator[str]:
    missing = sorted(set(known) ^ (set(table) & set(known)))
    if missing:
        raise SystemExit(f"tools/document_spark.py says nothing of the option {missing[0]}: add it to its table")
    yield "| option | Spark's connector | here |"
    yield "|---|---|---|"
    for name in known:
        entry = table[name]
        yield f"| `{name}` | {entry.spark or 'no such option'} | {entry.here} |"
    for name, reason in refused.items():
        yield f"| `{name}` | taken | refused: {reason} |"


def _properties(table: Mapping[str, SparkProperty]) -> Iterator[str]:
    yield "| property | here |"
    yield "|---|---|"
    for name, entry in sorted(table.items()):
        if entry.effect and entry.refused:
            yield f"| `{name}` | {entry.effect}: {entry.refused} |"
        else:
            yield f"| `{name}` | {entry.effect or 'refused: ' + entry.refused} |"


if __name__ == "__main__":
    sys.exit(main())
