"""The demo's data as its files contain it."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import UTC, datetime

from oncelog.apps.demo.flights import TOTAL, WEATHER, Flight, data_folder, hour_ms, read_flights, read_table


def test_every_row_of_the_file_is_a_flight(flights: list[Flight]) -> None:
    assert len(flights) == TOTAL
    assert {flight.id for flight in flights} == set(range(1, TOTAL + 1))


def test_flights_are_in_scheduled_order(flights: list[Flight]) -> None:
    times = [flight.departure_ms for flight in flights]
    assert times == sorted(times)


def test_a_limit_of_flights_takes_the_first_flights_of_the_file(flights: list[Flight]) -> None:
    assert read_flights(10_000) == flights[:10_000]


def test_fields_are_those_of_the_file_and_missing_ones_are_none(flights: list[Flight]) -> None:
    by_id = {flight.id: flight for flight in flights}
    with zipfile.ZipFile(data_folder() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        rows = list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8")))
    for number in (1, 839, 1000, 77_777, TOTAL):
        shown = {name: "NA" if value is None else str(value) for name, value in by_id[number]._asdict().items()}
        assert {name: shown[name] for name in rows[number - 1]} == rows[number - 1]


def test_the_departure_time_is_the_local_schedule_converted_to_utc(flights: list[Flight]) -> None:
    first = min(flights, key=lambda flight: flight.id)
    assert (first.hour, first.minute) == (5, 15)
    assert datetime.fromtimestamp(first.departure_ms / 1000, UTC) == datetime(2013, 1, 1, 10, 15, tzinfo=UTC)


def test_weather_has_each_hour_of_an_airport_once() -> None:
    rows = read_table("weather", WEATHER)
    assert len({row[:2] for row in rows}) == len(rows)
    assert hour_ms(str(rows[0][1])) == 1_357_020_000_000
