"""The expected content of the topics, computed directly from the data files, without Spark and without the broker.

Called by the proof. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from oncelog.apps.demo.flights import AIRLINES, PLANES, WEATHER, Flight, read_table
from oncelog.apps.demo.pipelines import LATE_MINUTES

Fields = Mapping[str, Any]
_HOUR_MS = 3_600_000


class ExpectedTopics:
    """The expected records of ``flights-enriched`` and ``delays-by-hour``."""

    def __init__(self, flights: Iterable[Flight]) -> None:
        self.flights = {flight.id: flight for flight in flights}
        self._airlines: dict[Any, Any] = dict(read_table("airlines", AIRLINES))  # type: ignore[arg-type]
        self._planes = {
            row[0]: dict(zip(list(PLANES)[1:], row[1:], strict=True)) for row in read_table("planes", PLANES)
        }
        self._weather = {
            row[:2]: dict(zip(list(WEATHER)[2:], row[2:], strict=True)) for row in read_table("weather", WEATHER)
        }
        self.windows = windows(self.flights.values())

    def enriched(self, flight: Flight) -> dict[str, Any]:
        """The expected value of a flight's record in ``flights-enriched``."""
        return flight._asdict() | {
            "airline": self._airlines.get(flight.carrier),
            "plane": self._planes.get(flight.tailnum),
            "weather": self._weather.get((flight.origin, flight.time_hour)),
        }

    def order(self) -> dict[str, list[int]]:
        """The ids of each plane's flights, in the order in which the producer sends them."""
        by_tail: dict[str, list[int]] = {}
        for number, flight in self.flights.items():
            if flight.tailnum is not None:
                by_tail.setdefault(flight.tailnum, []).append(number)
        return by_tail


def windows(flights: Iterable[Flight]) -> dict[str, dict[str, Any]]:
    """The expected value of each window's record in ``delays-by-hour``, by the record's key."""
    delays: dict[tuple[str, str, int], list[int | None]] = {}
    for flight in flights:
        hour = flight.departure_ms // _HOUR_MS * _HOUR_MS
        delays.setdefault((flight.origin, flight.carrier, hour), []).append(flight.dep_delay)
    found = {}
    for (origin, carrier, hour), listed in delays.items():
        start = datetime.fromtimestamp(hour / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        left = [delay for delay in listed if delay is not None]
        found[f"{origin}/{carrier}/{start}"] = {
            "hour": start,
            "origin": origin,
            "carrier": carrier,
            "flights": len(listed),
            "cancelled": len(listed) - len(left),
            "late": sum(delay >= LATE_MINUTES for delay in left),
            "delay_minutes": sum(left) if left else None,
            "longest_delay": max(left, default=None),
            "mean_delay": sum(left) / len(left) if left else None,
        }
    return found
