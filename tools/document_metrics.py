"""Write ``docs/reference/metrics.md`` from the catalogues of series; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from oncelog.broker.metrics.catalog import CONFLUENT, EVERY_TOPIC, FAMILIES, STRIMZI
from oncelog.broker.metrics.exposition import Family, MetricKind
from oncelog.spark.pipeline.series import FAMILIES as PIPELINE_FAMILIES
from oncelog.spark.pipeline.series import PIPELINE
from tools import client_metrics

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"

PAIR = "Kafka, with a name for Strimzi and one for Confluent"

INTRODUCTION = """\
# Metrics

Made by `python tools/document_metrics.py` from the catalogue of series; do not edit. How to scrape them:
[Monitor](../how-to/monitor.md).

`oncelog serve --metrics HOST:PORT` and `oncelog.Broker(metrics="HOST:PORT")` serve `/metrics` in Prometheus' text
format, or in OpenMetrics for a scraper that accepts it. Dashboards for kafka_exporter and for the JMX exporter with the
rules of Strimzi or Confluent work with it. A series that makes no sense without replicas is a constant.

Labels stand in braces. `_total` ends the name of a counter, which begins at 0 after a restart. `persec` is Confluent's
name of a counter, with the type `unknown` (`untyped` in the text format), since OpenMetrics allows no other name for
counters. All others are gauges, if nothing else is said. Quantiles of a summary cover the last one to two minutes and
are accurate to an eighth. A count without the label `topic` covers all topics, including deleted ones.

Of Kafka's metrics of share groups these are missing: times and ratios of acquisitions and of loads
(`TopicPartitionsAcquireTimeMs`, `RequestTopicPartitionsFetchRatio`, `PartitionLoadTimeMs`, `FetchLockTimeMs`,
`FetchLockRatio`), records of each batch (`InFlightBatchMessageCount`), share requests by topic, and
`share-coordinator-metrics`.
"""

CLIENTS = """
## A client

`producer.metrics()` and `consumer.metrics()` of every client (asyncio, blocking, `oncelog.aiokafka`) return values by
name, by group: `producer.metrics()["producer-metrics"]["record-send-total"]`. Groups and names are Kafka's, in the form
that kafka-python gives them. `-total` counts since the client was created. `-rate` (per second), `-avg` and
`-max` cover the last 30 to 60 seconds. Other metrics of Kafka's Java client have no counterpart here.
"""


def main() -> int:
    page = "\n".join(_page()) + "\n"
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python -m tools.document_metrics\n")
        return 1
    PAGE.write_text(page)
    return 0


def _page() -> Iterator[str]:
    yield INTRODUCTION
    yield "## A broker"
    yield from _tables(list(FAMILIES.values()))
    yield "\n## A run of pipelines\n"
    yield "`oncelog pipeline run --metrics HOST:PORT` serves these and the process's, as above."
    yield from _tables([family for family in PIPELINE_FAMILIES.values() if family.origin == PIPELINE])
    yield CLIENTS
    yield from client_metrics.page()


def _tables(families: list[Family]) -> Iterator[str]:
    """One table for each origin; series that have the same meaning share a row."""
    rows: dict[tuple[str, tuple[str, ...], MetricKind | None], list[Family]] = defaultdict(list)
    for family in families:
        rows[family.help, family.labels, _kind_to_name(family)].append(family)
    tables: dict[str, list[str]] = {}
    for (text, _, kind), members in rows.items():
        origins = {family.origin for family in members}
        origin = PAIR if origins == {STRIMZI, CONFLUENT} else members[0].origin
        text = text.removesuffix(EVERY_TOPIC).rstrip()
        series = ", ".join(f"`{family.name}{_labels(family)}`" for family in members)
        tables.setdefault(origin, []).append(f"| {series} | {f'{kind.value.capitalize()}: ' if kind else ''}{text} |")
    for origin in sorted(tables, key=[PAIR, *dict.fromkeys(family.origin for family in families)].index):
        yield f"\n### {origin[0].upper()}{origin[1:]}\n"
        yield "| series | meaning |"
        yield "|---|---|"
        yield from tables[origin]


def _labels(family: Family) -> str:
    return f"{{{','.join(family.labels)}}}" if family.labels else ""


def _kind_to_name(family: Family) -> MetricKind | None:
    """The kind of a metric; None if the metric's name shows the kind, as the page's introduction explains."""
    implied = MetricKind.GAUGE
    if family.name.endswith("_total"):
        implied = MetricKind.COUNTER
    elif family.name.endswith("persec"):
        implied = MetricKind.UNKNOWN
    return None if family.kind is implied else family.kind


if __name__ == "__main__":
    sys.exit(main())
