"""Sends the departures from New York City in 2013 to the topic ``flights``, a thousand in each transaction.

python examples/send_flights.py 127.0.0.1:9092 10000
"""

from __future__ import annotations

import sys

from oncelog.apps.demo.flights import TOTAL, read_flights
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic


def send(bootstrap_servers: str, count: int) -> None:
    """The first ``count`` flights, in the order of their departure."""
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        missing = {"flights", "flights-late"} - set(admin.list_topics())
        keep = {"retention.ms": "-1"}  # their times are those of 2013
        admin.create_topics([NewTopic(name, 6, topic_configs=keep) for name in sorted(missing)])
    with Producer(bootstrap_servers=bootstrap_servers, transactional_id="send-flights") as producer:
        flights = read_flights(count)
        for start in range(0, len(flights), 1000):
            with producer.transaction():
                for flight in flights[start : start + 1000]:
                    key = None if flight.tailnum is None else flight.tailnum.encode()
                    producer.send("flights", flight.as_json(), key, timestamp_ms=flight.departure_ms)


if __name__ == "__main__":
    send(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else TOTAL)
