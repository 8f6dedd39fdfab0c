"""The demo's expected results, against numbers worked out by hand."""

from __future__ import annotations

from oncelog.apps.demo.expected import ExpectedTopics, windows
from oncelog.apps.demo.flights import Flight


def test_a_window_sums_up_the_flights_of_an_hour_airport_and_airline(flights: list[Flight]) -> None:
    flights = flights[:2000]
    chosen = [
        flight
        for flight in flights
        if flight.origin == "JFK" and flight.carrier == "B6" and flight.time_hour == "2013-01-01T11:00:00Z"
    ]
    delays = [flight.dep_delay for flight in chosen if flight.dep_delay is not None]
    assert windows(flights)["JFK/B6/2013-01-01T11:00:00Z"] == {
        "hour": "2013-01-01T11:00:00Z",
        "origin": "JFK",
        "carrier": "B6",
        "flights": len(chosen),
        "cancelled": len(chosen) - len(delays),
        "late": len([delay for delay in delays if delay >= 15]),
        "delay_minutes": sum(delays),
        "longest_delay": max(delays),
        "mean_delay": sum(delays) / len(delays),
    }


def test_a_window_of_only_cancelled_flights_has_no_delay(flights: list[Flight]) -> None:
    flight = flights[0]._replace(dep_delay=None)
    (found,) = windows([flight]).values()
    assert (found["flights"], found["cancelled"], found["late"]) == (1, 1, 0)
    assert found["delay_minutes"] is found["longest_delay"] is found["mean_delay"] is None


def test_a_flight_is_joined_with_the_rows_of_the_tables(flights: list[Flight]) -> None:
    expected = ExpectedTopics(flights[:1000])
    enriched = expected.enriched(expected.flights[1])
    assert enriched["airline"] == "United Air Lines Inc."
    assert enriched["plane"]["manufacturer"] == "BOEING"
    assert enriched["weather"]["temp"] == 39.02
    unknown = expected.enriched(expected.flights[1]._replace(tailnum=None, time_hour="2099-01-01T00:00:00Z"))
    assert unknown["plane"] is unknown["weather"] is None


def test_the_expected_order_of_each_planes_flights_is_the_order_of_sending(flights: list[Flight]) -> None:
    flights = flights[:3000]
    order = ExpectedTopics(flights).order()
    place = {flight.id: number for number, flight in enumerate(flights)}
    assert sum(map(len, order.values())) == sum(flight.tailnum is not None for flight in flights)
    for numbers in order.values():
        assert sorted(numbers, key=place.__getitem__) == numbers
