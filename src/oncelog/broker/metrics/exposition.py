"""Renders Prometheus' text format 0.0.4 and OpenMetrics 1.0 without a library.

``prometheus_client`` writes all series at once; here lines come in chunks, so that a scrape of 5,000 partitions takes a
millisecond of the event loop at a time, between other callbacks (``python -m benchmarks --only metrics`` measures the
cost).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

CHUNK = 1000
"""The number of lines in a chunk."""


class MetricKind(Enum):
    """The type of a series. ``UNKNOWN`` is for counters under a name that OpenMetrics does not allow for counters."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"
    UNKNOWN = "unknown"


class Family(NamedTuple):
    """All series with one name. ``origin`` says where the name comes from; ``labels`` are the names of the labels that
    distinguish the series."""

    name: str
    kind: MetricKind
    origin: str
    labels: tuple[str, ...]
    help: str


class ExpositionFormat(Enum):
    """The two text formats; the value is the media type."""

    TEXT = "text/plain; version=0.0.4; charset=utf-8"
    OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

    @classmethod
    def accepted(cls, accept: str) -> ExpositionFormat:
        """The format for a scraper that sends this ``Accept`` header."""
        return cls.OPEN_METRICS if "application/openmetrics-text" in accept else cls.TEXT


class Exposition:
    """Collects samples, grouped by family, in the order in which the families were first used."""

    def __init__(self, families: Mapping[str, Family], form: ExpositionFormat) -> None:
        self._families = families
        self._form = form
        self._lines: dict[str, list[str]] = {}

    def lines(self, family: str) -> list[str]:
        """The list of a family's samples, to which callers with many samples append whole lines in the form of
        :func:`sample`."""
        lines = self._lines.get(family)
        if lines is None:
            lines = self._lines[self._families[family].name] = []
        return lines

    def add(self, family: str, value: float, labels: str = "") -> None:
        """Add one sample. :param labels: in the form that :func:`labels` returns."""
        self.lines(family).append(sample(family, labels, value))

    def add_summary(
        self, family: str, quantiles: Iterable[tuple[str, float]], count: int, total: float | None, labels: str = ""
    ) -> None:
        """Add the samples of a summary. :param total: the sum of all values; None if Kafka's exporter has none."""
        lines = self.lines(family)
        before = f"{labels}," if labels else ""
        lines += [sample(family, f'{before}quantile="{quantile}"', value) for quantile, value in quantiles]
        lines.append(sample(f"{family}_count", labels, count))
        if total is not None:
            lines.append(sample(f"{family}_sum", labels, total))

    def render(self) -> Iterator[str]:
        """The rendered page, in chunks."""
        for name, lines in self._lines.items():
            yield self._head(self._families[name])
            for begin in range(0, len(lines), CHUNK):
                yield "".join(lines[begin : begin + CHUNK])
        if self._form is ExpositionFormat.OPEN_METRICS:
            yield "# EOF\n"

    def _head(self, family: Family) -> str:
        name, kind = family.name, family.kind.value
        if self._form is ExpositionFormat.OPEN_METRICS:
            name = name.removesuffix("_total") if family.kind is MetricKind.COUNTER else name
        elif family.kind is MetricKind.UNKNOWN:
            kind = "untyped"
        return f"# HELP {name} {family.help}\n# TYPE {name} {kind}\n"


def sample(name: str, labels: str, value: float) -> str:
    return f"{name}{{{labels}}} {value}\n" if labels else f"{name} {value}\n"


def labels(**values: object) -> str:
    """Labels in the form ``name="value"``, separated by commas, with escaped values."""
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in values.items())


def _escaped(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    return value
