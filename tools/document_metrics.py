"""Write ``docs/reference/metrics.md`` from the catalogues of series; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from oncelog.broker.metrics.catalog import FAMILIES
from oncelog.broker.metrics.exposition import Family
from oncelog.spark.pipeline.series import FAMILIES as PIPELINE_FAMILIES
from oncelog.spark.pipeline.series import PIPELINE
from tools import client_metrics

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "metrics.md"

INTRODUCTION = """\
# Metrics

Made by `python tools/document_metrics.py` from the catalogue of series; do not edit. How to scrape them:
[Monitor](../how-to/monitor.md).

`oncelog serve --metrics HOST:PORT` and `oncelog.Broker(metrics="HOST:PORT")` serve `/metrics` in Prometheus' text
format, or in OpenMetrics for a scraper that accepts it. Kafka's own metrics have the names that the JMX exporter
gives them with the rules of Strimzi and of Confluent, and the names of kafka_exporter, so dashboards made for these
work with this broker too. A series that makes no sense for one broker without replicas is a constant, as the
table says. Counters count "since the start", as in Kafka: they begin at 0 after a restart.

Quantiles cover the last one to two minutes and are accurate to an eighth. Counts without the label `topic` cover all
topics, including deleted ones. OpenMetrics allows no counter without `_total` in its name, so Confluent's counters have
the type `unknown` there (`untyped` in the text format).
"""

CLIENTS = """
## A client

`producer.metrics()` and `consumer.metrics()` of every client (asyncio, blocking, `oncelog.aiokafka`) return values by
name, by group: `producer.metrics()["producer-metrics"]["record-send-total"]`. Groups and names are Kafka's, in the form
that kafka-python gives them. `-total` counts since the client was created. `-rate` (per second), `-avg` and
`-max` cover the last 30 to 60 seconds, as with Kafka's defaults. Metrics of Kafka's Java client that are not listed
(times of I/O threads, of an allocator, of callbacks) have no counterpart here. A client counts once per request or
batch, never per record.
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
    yield "`oncelog pipeline run --metrics HOST:PORT`; counts are those of this run, `process` as above."
    yield from _tables([family for family in PIPELINE_FAMILIES.values() if family.origin == PIPELINE])
    yield CLIENTS
    yield from client_metrics.page()


def _tables(families: list[Family]) -> Iterator[str]:
    """One table for each origin, in the order of the catalogue."""
    order = list(dict.fromkeys(family.origin for family in families))
    for origin, members in groupby(sorted(families, key=lambda one: order.index(one.origin)), lambda one: one.origin):
        yield f"\n### {origin[0].upper()}{origin[1:]}\n"
        yield "| series | kind | labels | what it says |"
        yield "|---|---|---|---|"
        for family in members:
            labels = ", ".join(f"`{label}`" for label in family.labels)
            yield f"| `{family.name}` | {family.kind.value} | {labels} | {family.help} |"


if __name__ == "__main__":
    sys.exit(main())
