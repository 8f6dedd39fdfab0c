"""The result of a demo in words and numbers, for the table on the terminal, for JSON and for the report. Pure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from oncelog.apps.demo.run import DELAYS, ENRICHED, DemoOutcome

TOPIC_COLUMNS = (
    "topic",
    "records in the log",
    "of aborted transactions",
    "control records",
    "delivered",
    "expected",
    "duplicates",
    "lost",
    "wrong",
    "keys out of order",
)


def topic_rows(outcome: DemoOutcome) -> list[tuple[str | int, ...]]:
    """A row for each topic, in the order of :data:`TOPIC_COLUMNS`."""
    return [
        (
            proof.topic,
            proof.records,
            proof.aborted,
            proof.control,
            proof.delivered,
            proof.expected,
            proof.duplicates,
            proof.lost,
            proof.wrong,
            proof.out_of_order,
        )
        for proof in outcome.proofs
    ]


def crash_counts(outcome: DemoOutcome) -> dict[str, int]:
    counts: dict[str, int] = {}
    for crash in outcome.crashes:
        counts[crash.what] = counts.get(crash.what, 0) + 1
    return counts


def outcomes(outcome: DemoOutcome) -> tuple[int, int]:
    """The number of committed and of aborted transactions, as the broker recorded them."""
    spans = [span for listed in outcome.spans.values() for span in listed]
    committed = sum(span.outcome == "committed" for span in spans)
    return committed, len(spans) - committed


def facts(outcome: DemoOutcome) -> list[tuple[str, str]]:
    """The lines below the table: each a label and its text."""
    counts = crash_counts(outcome)
    committed, aborted = outcomes(outcome)
    survived = ", ".join(f"{what} {number}" for what, number in counts.items())
    return [
        ("crashes survived", f"{len(outcome.crashes)} ({survived})" if counts else "0 (--calm)"),
        ("batches skipped on replay", str(len(outcome.skips))),
        ("drivers that gave up", "; ".join(outcome.restarts) or "none"),
        ("micro-batches", f"{ENRICHED} {outcome.batches[ENRICHED]}, {DELAYS} {outcome.batches[DELAYS]}"),
        ("written by the executors", f"{outcome.by_executors} batches of {ENRICHED}, by several writers each"),
        ("transactions", f"{committed} committed, {aborted} aborted"),
        ("time", ", ".join(f"{name} {seconds:.1f} s" for name, seconds in outcome.phases.items())),
        *_sparks_sink_facts(outcome),
        ("verdict", verdict(outcome)),
    ]


def _sparks_sink_facts(outcome: DemoOutcome) -> list[tuple[str, str]]:
    sparks_sink = outcome.sparks_sink
    if sparks_sink is None:
        return []
    if sparks_sink.missing:
        return [("Spark's own sink", f"not run: {sparks_sink.missing}")]
    duplicated, lost = f"{sparks_sink.duplicates:,} duplicates", f"{sparks_sink.lost:,} lost"
    text = f"{duplicated} and {lost} of {sparks_sink.expected:,} after one kill of its driver"
    return [("Spark's own sink", text)]


def verdict(outcome: DemoOutcome) -> str:
    if outcome.exact:
        return "every record exactly once, every field and window right, every key in order"
    return "the topics differ from what was expected"


def as_json_object(outcome: DemoOutcome) -> dict[str, Any]:
    names = [name.replace(" ", "_") for name in TOPIC_COLUMNS]
    committed, aborted = outcomes(outcome)
    return {
        "exact": outcome.exact,
        "bootstrap_servers": outcome.servers,
        "topics": [dict(zip(names, row, strict=True)) for row in topic_rows(outcome)],
        "crashes": [crash._asdict() for crash in outcome.crashes],
        "driver_restarts": outcome.restarts,
        "batches_skipped_on_replay": len(outcome.skips),
        "batches": outcome.batches,
        "transactions": {"committed": committed, "aborted": aborted},
        "sparks_own_sink": None if outcome.sparks_sink is None else asdict(outcome.sparks_sink),
        "written_by_executors": outcome.by_executors,
        "aborted_record": None if outcome.aborted is None else outcome.aborted._asdict(),
        "seconds": outcome.phases,
    }
