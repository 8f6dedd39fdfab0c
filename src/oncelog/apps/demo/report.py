"""Writes one self-contained HTML file about a run of the demo: what was proven, and plots of the flights and the run.

Called by ``oncelog demo``. The file loads no scripts, fonts or pictures.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from oncelog import __version__
from oncelog.apps.demo.charts import Cell, ChartBar, Mark, Panel, Series, heat_map, svg
from oncelog.apps.demo.flights import AIRLINES, read_table
from oncelog.apps.demo.history import COMMITTED, Span
from oncelog.apps.demo.proof import TopicProof
from oncelog.apps.demo.run import DELAYS, ENRICHED, FLIGHTS, DemoOutcome
from oncelog.apps.demo.spark_sink_crashes import SparkSinkProof
from oncelog.apps.demo.summary import TOPIC_COLUMNS, topic_rows, verdict

_LANES = {FLIGHTS: "producer of flights", ENRICHED: "sink flights-enriched", DELAYS: "sink delays-by-hour"}
_FIRST_GOOD = TOPIC_COLUMNS.index("duplicates")
_MIN_FLIGHTS = 10
"""The minimum number of flights of a cell in the heat map; a cell with fewer stays empty."""


def write_report(outcome: DemoOutcome, path: Path) -> None:
    """Write the report; creates its folder if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(outcome), encoding="utf-8")


def render(outcome: DemoOutcome) -> str:
    """The page as HTML."""
    template = Template(files("oncelog.apps.demo").joinpath("report.html").read_text(encoding="utf-8"))
    settings = outcome.settings
    where = "Apache Kafka" if settings.bootstrap_server else "oncelog's broker"
    spark = f"the Spark cluster {settings.master}" if settings.master else "Spark on this machine"
    day = time.strftime("%Y-%m-%d %H:%M", time.localtime(outcome.started_at))
    return template.substitute(
        headline=f"{settings.flights:,} flights, each exactly once",
        subtitle=escape(
            f"Departures from New York City in 2013, replayed through {where} ({outcome.servers}) and two pipelines on "
            f"{spark}, while {_crashes_in_words(outcome)}."
        ),
        verdict=escape(verdict(outcome)[:1].upper() + verdict(outcome)[1:]),
        verdict_short="exactly once" if outcome.exact else "differences",
        verdict_class="exact" if outcome.exact else "",
        tiles=_tiles(outcome),
        topics=_topics(outcome),
        differences=_differences(outcome),
        windows=f"{len(outcome.windows):,}",
        heat_map=_heat_map(outcome),
        summary=_summary(outcome),
        crashes=_crashes(outcome),
        sparks_sink=_sparks_sink(outcome),
        aborted=_aborted(outcome),
        footer=escape(f"oncelog {__version__}, Python {platform.python_version()}, {day}; {_times(outcome)}"),
    )


def _crashes_in_words(outcome: DemoOutcome) -> str:
    number = len(outcome.crashes)
    return f"{number} processes were killed" if number else "no process was killed"


def _times(outcome: DemoOutcome) -> str:
    return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in outcome.phases.items())


def _tiles(outcome: DemoOutcome) -> str:
    tiles = [
        (f"{outcome.proofs[1].delivered:,}", "flights delivered"),
        (f"{sum(proof.duplicates for proof in outcome.proofs):,}", "duplicates"),
        (f"{sum(proof.lost for proof in outcome.proofs):,}", "lost"),
        (f"{sum(proof.aborted for proof in outcome.proofs):,}", "records of aborted transactions, hidden"),
        (f"{len(outcome.crashes)}", "crashes survived"),
        (f"{len(outcome.skips)}", "batches skipped on replay"),
    ]
    return "".join(f'<div class="tile"><b>{value}</b><span>{escape(name)}</span></div>' for value, name in tiles)


def _table(columns: Iterable[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _topics(outcome: DemoOutcome) -> str:
    def cell(place: int, value: str | int) -> str:
        shown = f"{value:,}" if isinstance(value, int) else escape(value)
        if place < _FIRST_GOOD:
            return shown
        return f'<span class="{"some" if value else "zero"}">{shown}</span>'

    return _table(
        TOPIC_COLUMNS, [[cell(place, value) for place, value in enumerate(row)] for row in topic_rows(outcome)]
    )


def _differences(outcome: DemoOutcome) -> str:
    texts = [text for proof in outcome.proofs for text in proof.differences]
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""


def _crashes(outcome: DemoOutcome) -> str:
    if not outcome.crashes:
        return "<p>None: the demo ran with --calm.</p>"
    rows = [
        [
            f'<span class="n">{number}</span>',
            f"{crash.at - outcome.started_at:.1f} s",
            escape(crash.what),
            escape(crash.where),
        ]
        for number, crash in enumerate(outcome.crashes, start=1)
    ]
    return _table(("", "after", "process", "when killed"), rows, "list")


def _sparks_sink(outcome: DemoOutcome) -> str:
    """The section of the report that compares Spark's own sink with oncelog's; Spark's own had fewer kills."""
    sparks_sink = outcome.sparks_sink
    if sparks_sink is None:
        return ""
    title = "<h2>The same crashes with Spark's own sink</h2>"
    if sparks_sink.missing:
        return f"<section>{title}<p>Not run: {escape(sparks_sink.missing)}.</p></section>"
    ours = outcome.proofs[1]
    kills = sum(crash.what == "driver" for crash in outcome.crashes)

    def row(name: str, killed: int, proof: TopicProof | SparkSinkProof) -> list[str]:
        bad = [f'<span class="{"some" if n else "zero"}">{n:,}</span>' for n in (proof.duplicates, proof.lost)]
        return [name, *bad, f"{proof.delivered:,}", str(killed)]

    table = _table(
        ("sink", "duplicates", "lost", "delivered", "kills of the driver"),
        [row("oncelog", kills, ours), row("Spark's own", sparks_sink.kills, sparks_sink)],
    )
    return (
        f"<section>{title}<p><code>format(&quot;kafka&quot;)</code> copied the same flights on the same broker; its "
        "driver was killed once, while it wrote a micro-batch. This sink is at least once by design: "
        f"Spark repeats the batch, and records written before the kill are in the topic twice.</p>{table}</section>"
    )


def inspection(outcome: DemoOutcome) -> list[str]:
    """The commands that show one aborted record with its outcome and its transaction."""
    record = outcome.aborted
    if record is None:
        return []
    where = outcome.servers
    place = f"-t {record.topic} -p {record.partition} -o {record.offset} -c 1"
    show = f"oncelog consume {place} --show-transactions -b {where}"
    if outcome.settings.bootstrap_server is not None:
        return [show]
    return [f"oncelog serve --listen {where} --data {outcome.settings.folder / 'broker'}", show]


def _aborted(outcome: DemoOutcome) -> str:
    record = outcome.aborted
    if record is None:
        return ""
    lines = escape("\n".join(inspection(outcome)))
    ours = outcome.settings.bootstrap_server is None
    first = "The first command starts the broker again on its data, and the second" if ours else "This command"
    return (
        f"<section><h2>One record that was never delivered</h2><p>Offset {record.offset} of "
        f"{escape(record.topic)}-{record.partition} is in the log, in an aborted transaction, so no read_committed "
        f"consumer sees it. {first} shows it with its outcome.</p><pre>{lines}</pre></section>"
    )


# --- plots


def _heat_map(outcome: DemoOutcome) -> str:
    names: dict[Any, Any] = {row[0]: row[1] for row in read_table("airlines", AIRLINES)}
    sums: dict[tuple[str, int], tuple[int, int]] = {}
    for window in outcome.windows:
        place = str(window["carrier"]), outcome.local_hours[str(window["hour"])]
        left, minutes = sums.get(place, (0, 0))
        flown = int(str(window["flights"])) - int(str(window["cancelled"]))
        sums[place] = left + flown, minutes + int(str(window["delay_minutes"] or 0))
    hours = sorted({hour for (_, hour), (left, _) in sums.items() if left >= _MIN_FLIGHTS})
    carriers = sorted({carrier for carrier, _ in sums}, key=lambda carrier: -_mean(sums, carrier))
    rows = [
        (_short_name(str(names[carrier])), [_cell(sums, carrier, hour, str(names[carrier])) for hour in hours])
        for carrier in carriers
    ]
    values = [cell.value for _, cells in rows for cell in cells if cell.value is not None]
    high = sorted(values)[int(len(values) * 0.97)] if values else 1.0
    return heat_map(rows, [f"{hour}:00" for hour in hours], 0.0, high)


def _mean(sums: dict[tuple[str, int], tuple[int, int]], carrier: str) -> float:
    listed = [value for (one, _), value in sums.items() if one == carrier]
    return sum(minutes for _, minutes in listed) / max(1, sum(left for left, _ in listed))


def _cell(sums: dict[tuple[str, int], tuple[int, int]], carrier: str, hour: int, name: str) -> Cell:
    left, minutes = sums.get((carrier, hour), (0, 0))
    if left < _MIN_FLIGHTS:
        return Cell(None, "")
    return Cell(minutes / left, f"{name}, {hour}:00: {minutes / left:.1f} minutes on average over {left:,} flights")


def _short_name(name: str) -> str:
    for ending in (" Inc.", " Co.", " Corporation", " Airlines", " Air Lines", " Airways"):
        name = name.removesuffix(ending)
    return name


def _summary(outcome: DemoOutcome) -> str:
    """Throughput, progress and transactions over time, in one figure."""
    start = outcome.started_at
    replayed = [(event.at - start, event.flights) for event in outcome.events if event.event == "committed"]
    enriched = [(written / 1000 - start, 1) for written in sorted(outcome.written_ms)]
    windows = [(written / 1000 - start, 1) for written in sorted(outcome.windows_written_ms)]
    spans = [span for listed in outcome.spans.values() for span in listed]
    end = max((span.end_ms / 1000 - start for span in spans), default=1.0) + 1.0
    marks = [
        Mark(crash.at - start, number, f"{crash.what}, {crash.where}")
        for number, crash in enumerate(outcome.crashes, start=1)
    ]
    bin_s = max(1.0, end / 120)
    rates = [
        Series("flights replayed", "replay", binned(replayed, bin_s, end)),
        Series("flights enriched", "enriched", binned(enriched, bin_s, end)),
        Series("windows of delays", "windows", binned(windows, bin_s, end)),
    ]
    rate, total, lanes = Panel(44, 150, end), Panel(250, 150, end), Panel(456, 132, end)
    rate.title("Records per second")
    y = rate.y_axis(max((value for series in rates for _, value in series.points), default=1.0) * 1.05)
    rate.legend(rates)
    for series in rates:
        rate.area(series, y)
    total.title("Share of each topic's records written so far, in percent")
    y = total.y_axis(103)
    for kind, points in (("replay", replayed), ("enriched", enriched), ("windows", windows)):
        all_of_it = sum(amount for _, amount in points) or 1
        shares = [(at, 100 * amount / all_of_it) for at, amount in cumulated(points, end / 600)]
        total.steps(Series("", kind, shares), y)
    lanes.title("Transactions")
    lanes.lanes({_LANES[name]: _bars(outcome, name) for name in _LANES})
    down = downtimes(outcome, end)
    for panel in (rate, total, lanes):
        panel.shade(down)
        panel.x_axis()
        panel.marks(marks, numbered=panel is rate)
    return svg(615, [*rate.parts, *total.parts, *lanes.parts], "throughput, progress and transactions over time")


def downtimes(outcome: DemoOutcome, end: float) -> list[ChartBar]:
    """The time from each kill to the end of the restarted process's first committed transaction."""
    affected = {"producer": [FLIGHTS], "driver": [ENRICHED, DELAYS], "writer": [ENRICHED]}
    found: list[ChartBar] = []
    for crash in outcome.crashes:
        lanes = affected.get(crash.what, list(_LANES))
        ends = [
            span.end_ms / 1000
            for name in lanes
            for span in outcome.spans.get(name, [])
            if span.outcome == COMMITTED and span.start_ms / 1000 > crash.at
        ]
        until = min(ends, default=outcome.started_at + end)
        text = f"{crash.what} down: {until - crash.at:.1f} s until the next commit"
        found.append(ChartBar(crash.at - outcome.started_at, until - outcome.started_at, "down", text))
    return found


def binned(points: Iterable[tuple[float, float]], width: float, end: float) -> list[tuple[float, float]]:
    """The average amount per second in each interval of ``width`` seconds."""
    sums = [0.0] * (int(end / width) + 1)
    for at, amount in points:
        if 0 <= at <= end:
            sums[int(at / width)] += amount
    return [(number * width, amount / width) for number, amount in enumerate(sums)]


def cumulated(points: Iterable[tuple[float, float]], least: float) -> list[tuple[float, float]]:
    """The running total over time, with points that are at least ``least`` seconds apart."""
    found: list[tuple[float, float]] = []
    total = 0.0
    for at, amount in points:
        total += amount
        if found and at - found[-1][0] < least:
            found[-1] = (found[-1][0], total)
        else:
            found.append((at, total))
    return found


def _bars(outcome: DemoOutcome, name: str) -> list[ChartBar]:
    start_ms = outcome.started_at * 1000
    bars = [
        ChartBar(
            (span.start_ms - start_ms) / 1000,
            (span.end_ms - start_ms) / 1000,
            (kind := _kind(outcome, span)),
            f"{kind}, {span.end_ms - span.start_ms} ms, {span.transactional_id}",
        )
        for span in outcome.spans.get(name, [])
    ]
    skips = [step for step in outcome.skips if step.pipeline == name]
    at = [step.at - outcome.started_at for step in skips]
    return bars + [
        ChartBar(when, when, "skipped", f"batch {step.batch}, already written, skipped")
        for when, step in zip(at, skips, strict=True)
    ]


def _kind(outcome: DemoOutcome, span: Span) -> str:
    """The kind of bar for a transaction: committed, aborted by a crash, or aborted on purpose. A crash aborted it if a
    process was killed while it was open."""
    if span.outcome == COMMITTED:
        return "committed"
    during = any(span.start_ms <= crash.at * 1000 <= span.end_ms for crash in outcome.crashes)
    return "crashed" if during else "intended"
