"""An order flow in Avro: halfway the orders get a field, and one record is broken.

    python examples/orders/order_flow.py                                        # starts a broker with a registry
    python examples/orders/order_flow.py 127.0.0.1:9092 http://127.0.0.1:8081   # on any Kafka, with any registry

It sends orders, runs the pipeline ``large_orders.toml``, sends orders of the next version and a broken one, and runs
the pipeline again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import oncelog
from oncelog.schemas import AvroSerializer, SchemaRegistry

PIPELINE = Path(__file__).with_name("large_orders.toml")
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": MONEY},
    ],
}
COUPON = {"name": "coupon", "type": ["null", "string"], "default": None}
ORDER_WITH_COUPON = ORDER | {"fields": [*ORDER["fields"], COUPON]}


def order_flow(servers: str, registry_url: str) -> None:
    """Send, run, send the next version and a broken record, run, and show what is in the topics then."""
    with oncelog.Admin(bootstrap_servers=servers) as admin:
        missing = {"orders", "orders-large", "orders-dead"} - set(admin.list_topics())
        admin.create_topics([oncelog.NewTopic(name, 1) for name in sorted(missing)])
    os.environ["ONCELOG_BOOTSTRAP_SERVER"] = servers
    os.environ["ONCELOG_SCHEMA_REGISTRY"] = registry_url
    with oncelog.Producer(bootstrap_servers=servers) as producer, SchemaRegistry(registry_url) as registry:
        to_avro = AvroSerializer(registry, ORDER, topic="orders")
        for order in (
            {"id": 1, "customer": "ada", "amount": Decimal("250.00")},
            {"id": 2, "customer": "bob", "amount": Decimal("12.50")},
        ):
            producer.send_and_wait("orders", to_avro(order))
        command("pipeline", "run", str(PIPELINE), "--once")

        to_avro = AvroSerializer(registry, ORDER_WITH_COUPON, topic="orders")
        for order in (
            {"id": 3, "customer": "cyd", "amount": Decimal("99.99"), "coupon": None},
            {"id": 4, "customer": "dan", "amount": Decimal("100.00"), "coupon": "SPRING"},
        ):
            producer.send_and_wait("orders", to_avro(order))
        producer.send_and_wait("orders", b'{"id": 5, "amount": 300}')  # somebody forgot the serializer
        command("pipeline", "run", str(PIPELINE), "--once")
    command("consume", "--topic", "orders-large", "--topic", "orders-dead", "--show-transactions", "--to-end")
    command("consume", "--topic", "orders-dead", "--from-beginning", "--to-end", "--show", "headers")


def command(*arguments: str) -> None:
    """``oncelog`` with these arguments, in a process of its own."""
    subprocess.run([sys.executable, "-m", "oncelog", *arguments], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        order_flow(*sys.argv[1:])
    else:
        with oncelog.Broker(schema_registry=True) as broker, TemporaryDirectory() as folder:
            os.chdir(folder)  # the checkpoint is of no use without the broker
            order_flow(broker.bootstrap_servers, broker.schema_registry_url)
