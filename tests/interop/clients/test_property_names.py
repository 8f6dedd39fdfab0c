"""Every property of Java's clients is told what becomes of it as a ``kafka.*`` option of Spark."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from oncelog.client.core.config import ClientConfig, known_properties
from oncelog.spark.client_properties import CONSUMER_PROPERTIES, PRODUCER_PROPERTIES, Property

PROGRAM = Path(__file__).parent / "ClientPropertyNames.java"
BY_CLIENT = {"consumer": CONSUMER_PROPERTIES, "producer": PRODUCER_PROPERTIES}


@pytest.fixture(scope="module")
def names(kafka_jars: Path) -> dict[str, set[str]]:
    command = ["java", "-cp", f"{kafka_jars}/*", str(PROGRAM)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, set[str]] = {"consumer": set(), "producer": set()}
    for line in ran.stdout.splitlines():
        client, _, name = line.partition(" ")
        if not name.startswith("internal."):
            found[client].add(name)
    return found


@pytest.mark.parametrize("client", ["consumer", "producer"])
def test_no_property_of_javas_client_is_unknown_and_none_is_made_up(client: str, names: dict[str, set[str]]) -> None:
    table: dict[str, Property] = dict(BY_CLIENT[client])
    assert names[client] - set(table) == set()
    ours = {name for name, f in known_properties(ClientConfig).items() if name not in names[client]}
    assert set(table) - names[client] - ours == set()


def test_every_property_has_either_an_effect_or_a_reason() -> None:
    for table in BY_CLIENT.values():
        for name, entry in table.items():
            assert bool(entry.refused) if not entry.effect or entry.only else not entry.refused, name
