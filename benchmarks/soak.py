"""Runs short-lived clients for hours, and measures what a broker keeps of clients that are gone.

    python -m benchmarks --only soak [--quick] [--chart FILE]

``churn`` is the load of ``oncelog serve``, whose memory and descriptors are read from ``/proc`` repeatedly; after a
quarter of an hour both should be flat. A descriptor of a deleted file keeps the file's disk space; no such descriptor
should be left when ``file.delete.delay.ms`` and a minute have passed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.churn import churning
from benchmarks.load import BenchmarkError
from benchmarks.measures import Figures
from benchmarks.servers import Oncelog, running

HOUR_S = 3600.0
SETTLED_PART = 0.25
"""The first part of the run, as a fraction, is not judged: caches still fill."""
SAMPLES = 60
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.check.interval.ms": "5000",
    "producer.id.expiration.ms": "120000",
    "producer.id.expiration.check.interval.ms": "10000",
}
"""Broker settings of the run. A partition forgets a producer two minutes after its last batch, not after a day as by
default, so that memory can become flat."""
DELAY = "log.segment.delete.delay.ms"
DEFAULT_DELAY_S, GRACE_S = 60.0, 60.0
WIDTH_PX, HEIGHT_PX, MARGIN_PX = 900, 260, 60
COLOURS = {"memory_mb": "#1f6f5c", "descriptors": "#b5533c", "deleted": "#5b6abf"}


class Sample(NamedTuple):
    """The broker's state ``at_s`` seconds after the load began."""

    at_s: float
    memory_mb: float
    descriptors: int
    deleted: int
    """Descriptors of files that were deleted."""


def look(pid: int, at_s: float = 0.0) -> Sample:
    targets = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            targets.append(str(entry.readlink()))
        except FileNotFoundError:
            continue  # closed meanwhile
    deleted = sum(target.endswith(" (deleted)") for target in targets)
    return Sample(at_s, psutil.Process(pid).memory_info().rss / 2**20, len(targets), deleted)


def watch(pid: int, seconds: float) -> list[Sample]:
    """Samples of the broker's state, at equal intervals."""
    begun = time.monotonic()
    samples = []
    for number in range(SAMPLES + 1):
        time.sleep(max(begun + number * seconds / SAMPLES - time.monotonic(), 0))
        samples.append(look(pid, time.monotonic() - begun))
        print("  {:7.0f} s {:8.1f} MB {:6} descriptors, {:4} of deleted files".format(*samples[-1]), file=sys.stderr)
    return samples


def await_closed(pid: int, seconds: float) -> int:
    """Wait until no descriptor of a deleted file is left; returns how many are left, 0 unless the time is over."""
    deadline = time.monotonic() + seconds
    while (left := look(pid).deleted) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def growth(samples: Sequence[Sample]) -> float:
    """By how many percent an hour the broker's memory grows once it has settled (least squares)."""
    settled = [sample for sample in samples if sample.at_s >= samples[-1].at_s * SETTLED_PART]
    at_s = sum(sample.at_s for sample in settled) / len(settled)
    memory_mb = sum(sample.memory_mb for sample in settled) / len(settled)
    rise = sum((sample.at_s - at_s) * (sample.memory_mb - memory_mb) for sample in settled)
    spread = sum((sample.at_s - at_s) ** 2 for sample in settled)
    return rise / spread * HOUR_S / memory_mb * 100


def hours(add: Callable[[str, Figures], None], chart: Path | None, *, quick: bool) -> None:
    seconds, delay_s = (60.0, 1.0) if quick else (HOUR_S, DEFAULT_DELAY_S)
    server = Oncelog(properties={**SETTINGS, DELAY: str(int(delay_s * 1000))})
    with running(server):
        with churning(server.bootstrap_servers) as churn:
            samples = watch(server.pid, seconds)
        left = await_closed(server.pid, delay_s + GRACE_S)
        for failure in sorted(set(churn.failures))[:5]:
            print(f"  {failure}", file=sys.stderr)
        if not all(churn.done.values()):
            raise BenchmarkError(f"clients of some kinds got nowhere: {churn.done}")
        settled = next(sample for sample in samples if sample.at_s >= seconds * SETTLED_PART)
        figures = {f"{kind}, a minute": done / seconds * 60 for kind, done in sorted(churn.done.items())}
        figures |= {
            f"memory after {settled.at_s / 60:.0f} min, MB": settled.memory_mb,
            f"memory after {seconds / 60:.0f} min, MB": samples[-1].memory_mb,
            "growth from then on, % an hour": growth(samples),
            f"descriptors after {settled.at_s / 60:.0f} min": float(settled.descriptors),
            f"descriptors after {seconds / 60:.0f} min": float(samples[-1].descriptors),
            "descriptors of deleted files in the end": float(left),
        }
        add(server.name, figures)
    if chart is not None:
        chart.write_text(lines(samples))


def lines(samples: Sequence[Sample]) -> str:
    """Memory and descriptors over time, as SVG."""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH_PX}" height="{HEIGHT_PX}" font-family="sans-serif" '
        f'font-size="11"><rect width="100%" height="100%" fill="white"/>'
    ]
    across = (WIDTH_PX - 2 * MARGIN_PX) / samples[-1].at_s
    for number, (name, colour) in enumerate(COLOURS.items()):
        values = [float(getattr(sample, name)) for sample in samples]
        up = (HEIGHT_PX - 2 * MARGIN_PX) / (max(values) or 1.0)
        points = " ".join(
            f"{MARGIN_PX + sample.at_s * across:.1f},{HEIGHT_PX - MARGIN_PX - value * up:.1f}"
            for sample, value in zip(samples, values, strict=True)
        )
        label = f"{name.replace('_mb', ', MB')}: {values[0]:.0f} to {values[-1]:.0f}, at most {max(values):.0f}"
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out.append(f'<text x="{MARGIN_PX + 260 * number}" y="30" fill="{colour}">{label}</text>')
    out.append(f'<text x="{MARGIN_PX}" y="{HEIGHT_PX - 30}">0 to {samples[-1].at_s / 60:.0f} min</text></svg>')
    return "\n".join(out) + "\n"
