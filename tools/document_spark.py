"""Write ``docs/reference/spark-options.md`` from the tables of options; ``--check`` says whether it is up to date.

Compares every option and column of ``format("oncelog")`` with those of Spark's own Kafka connector, 4.x
(``KafkaSourceProvider``, ``KafkaOffsetReaderAdmin``, ``KafkaWriter``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from oncelog.spark.client_properties import CONSUMER_PROPERTIES, PRODUCER_PROPERTIES, SparkProperty
from oncelog.spark.options import REFUSED_OPTIONS, REFUSED_SINK_OPTIONS, SINK_OPTIONS, SOURCE_OPTIONS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "spark-options.md"

INTRODUCTION = """\
# Spark options, compared with Spark's own Kafka connector

Made by `python -m tools.document_spark` from the tables that the options are checked with; do not edit.

The comparison is with `spark-sql-kafka-0-10` of Spark 4.x; `-` is an option that it does not have. An option that has
no effect here is refused by name, with the reason and the next step.

"""


class Option(NamedTuple):
    """How Spark's connector treats an option (empty if it has no such option), and how oncelog's differs."""

    spark: str
    here: str = "the same"


SOURCE: Mapping[str, Option] = {
    "subscribe": Option("topics, by commas"),
    "subscribePattern": Option(
        "`java.util.regex`, found anywhere in a topic's name",
        "the same; nested classes, `&&` and rare escapes are refused",
    ),
    "assign": Option('JSON `{"t": [0, 1]}`'),
    "startingOffsets": Option("`latest` for a stream, `earliest` for a batch"),
    "endingOffsets": Option(
        "`latest`; batch only. Beyond the end the task waits, then fails",
        "fails when it is planned; with `failOnDataLoss` `false` it reads up to the end, like Spark's",
    ),
    "startingTimestamp": Option("takes precedence over the two below"),
    "endingTimestamp": Option("takes precedence over the two below"),
    "startingOffsetsByTimestamp": Option("JSON, one timestamp for each partition"),
    "endingOffsetsByTimestamp": Option("JSON, one timestamp for each partition"),
    "startingOffsetsByTimestampStrategy": Option("`error` or `latest`"),
    "maxOffsetsPerTrigger": Option(
        "shared in proportion to what each partition holds; ignored by a batch", "a batch refuses it"
    ),
    "minOffsetsPerTrigger": Option(
        "the first batch does not wait for them; ignored by a batch query", "a batch query refuses it"
    ),
    "maxTriggerDelay": Option("`15m`; ignored by a batch", "a batch refuses it"),
    "minPartitions": Option("splits partitions into more tasks"),
    "maxRecordsPerPartition": Option("splits partitions into more tasks"),
    "failOnDataLoss": Option("`true`; offsets of markers and aborted records may look like a loss", "they never do"),
    "includeHeaders": Option("`false`"),
    "includeTimestampMillis": Option(
        "",
        "adds the column `timestampMillis`, Kafka's own value; `timestamp` is null beyond the year 294247, "
        "where the read stops without this option",
    ),
    "commitOffsetsToGroup": Option(
        "", "commits the position to a consumer group after each batch, including the last one"
    ),
    "fetchOffset.numRetries": Option("3", "default: retries until `kafka.default.api.timeout.ms`"),
    "fetchOffset.retryIntervalMs": Option("1000"),
    "kafkaConsumer.pollTimeoutMs": Option("`spark.network.timeout`, 120 s", "120000"),
}

SINK: Mapping[str, Option] = {
    "topic": Option("takes precedence over the column `topic`"),
    "topics": Option(
        "", "the topics that rows may name, by commas; without it the tasks get every topic's partition count"
    ),
    "checkpointLocation": Option("Spark's"),
    "queryName": Option("Spark's"),
    "transactionalIdPrefix": Option("", "prefix of the transactional id and the marker group"),
    "batchId": Option("", "identifies a batch write, which is written once even if it is repeated"),
    "maxBatchBytes": Option("", "maximum of encoded bytes that a batch sends through the driver (256 MiB)"),
    "writers": Option(
        "", "for `for_each_batch` and `write`: number of tasks that write; 0: the driver; `auto`: by the size"
    ),
    "onMissingMarker": Option("", "`fail`, `write` or `skip`, if a batch's marker is missing"),
    "onFullRefresh": Option(
        "", "`fail`, `append` or `after`, if a flow of a declarative pipeline is refreshed in full"
    ),
    "offsetsRetentionMinutes": Option(
        "", "the broker's `offsets.retention.minutes`, if the query is not permitted to read it"
    ),
    "markerTopic": Option("", "the topic under which the marker is kept"),
    "createTopics": Option("", "how missing topics are created, as JSON; without it they are refused"),
}

INTERNAL = {"microBatch", "sinkName"}
"""Options of the sink that ``for_each_batch`` sets; users set none of them."""

COLUMNS = """\
## Columns

| column | reading | writing | beside Spark's connector |
|---|---|---|---|
| `key` | binary | string or binary | the same, and the same partition for a key |
| `value` | binary | string or binary, required | the same |
| `topic` | string | string | the same |
| `partition` | int | int | the same; a missing partition is refused before anything is written |
| `offset` | long | ignored | the same |
| `timestamp` | timestamp | ignored: the record gets the time of writing | the same |
| `timestampType` | int | ignored | the same |
| `headers` | array<struct<key, value>>, with `includeHeaders` | this or a map, of text or bytes | no maps, no text |
| `timestampMillis` | long, with `includeTimestampMillis` | ignored | |
| any other | | ignored | the same |
| a name in another case, `VALUE` | | used if no column has the exact name | ignored, and `value` is missing |

A [SQL table](../how-to/sql.md) has the options of both lists but those of queries. Its INSERT also takes `timestamp`,
and refuses a value in `offset` and `timestampType`.

Output modes: Append and Complete with `format("oncelog")`, Update with `for_each_batch`; Spark's connector accepts all
three with `format("kafka")`. Continuous processing is not offered.

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
    yield "## Kafka's client properties\n"
    yield "Given as `kafka.NAME`. Spark's connector passes all of them to Java's client.\n"
    both = [name for name, entry in CONSUMER_PROPERTIES.items() if PRODUCER_PROPERTIES.get(name) == entry]
    yield from _properties("reading and writing", {name: CONSUMER_PROPERTIES[name] for name in both})
    for what, table in (("reading", CONSUMER_PROPERTIES), ("writing", PRODUCER_PROPERTIES)):
        yield from _properties(what, {name: entry for name, entry in table.items() if name not in both})


def _options(known: tuple[str, ...], table: Mapping[str, Option], refused: Mapping[str, str]) -> Iterator[str]:
    missing = sorted(set(known) ^ (set(table) & set(known)))
    if missing:
        raise SystemExit(f"tools/document_spark.py says nothing of the option {missing[0]}: add it to its table")
    yield "| option | Spark's connector | here |"
    yield "|---|---|---|"
    for entry, names in groupby(known, lambda name: table[name]):
        yield f"| {', '.join(f'`{name}`' for name in names)} | {entry.spark or '-'} | {entry.here} |"
    for name, reason in refused.items():
        yield f"| `{name}` | accepted | refused: {reason} |"


def _properties(what: str, table: Mapping[str, SparkProperty]) -> Iterator[str]:
    """Two tables: each property with an effect, and the refused properties by reason."""
    yield f"### For {what}\n"
    yield "| property | here |"
    yield "|---|---|"
    refused: dict[str, list[str]] = {}
    for name, entry in sorted(table.items()):
        if entry.effect:
            yield f"| `{name}` | {': '.join(filter(None, (entry.effect, entry.refused)))} |"
        else:
            refused.setdefault(entry.refused, []).append(f"`{name}`")
    yield f"\nRefused for {what}:\n"
    yield "| properties | reason |"
    yield "|---|---|"
    for reason, names in refused.items():
        yield f"| {', '.join(names)} | {reason} |"
    yield ""


if __name__ == "__main__":
    sys.exit(main())
