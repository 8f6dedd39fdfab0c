"""For every property of Java's clients, the Spark option ``kafka.*`` of that name is either used or explained."""

from __future__ import annotations

import re
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from oncelog.client.core.config import ClientConfig, known_properties
from oncelog.spark.client_properties import CONSUMER_PROPERTIES, PRODUCER_PROPERTIES, SparkProperty
from oncelog.spark.maven import spark_connector_jars
from oncelog.spark.options import REFUSED_OPTIONS, REFUSED_SINK_OPTIONS, SINK_OPTIONS, SOURCE_OPTIONS
from tools.document_spark import SINK, SOURCE

PROGRAM = Path(__file__).parent / "ClientPropertyNames.java"
BY_CLIENT = {"consumer": CONSUMER_PROPERTIES, "producer": PRODUCER_PROPERTIES}


@pytest.fixture(scope="module")
def names(kafka_jars: Path) -> dict[str, set[str]]:
    command = ["java", "-cp", f"{kafka_jars}/*", str(PROGRAM)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, set[str]] = {"consumer": set(), "producer": set()}
    for line in ran.stdout.splitlines():
        client, _, name = line.partition(" ")
        if not name.startswith("internal."):
            found[client].add(name)
    return found


@pytest.mark.parametrize("client", ["consumer", "producer"])
def test_no_property_of_javas_client_is_missing_and_none_is_invented(client: str, names: dict[str, set[str]]) -> None:
    table: dict[str, SparkProperty] = dict(BY_CLIENT[client])
    assert names[client] - set(table) == set()
    ours = {name for name, f in known_properties(ClientConfig).items() if name not in names[client]}
    assert set(table) - names[client] - ours == set()


def test_every_property_has_either_an_effect_or_a_reason() -> None:
    for table in BY_CLIENT.values():
        for name, entry in table.items():
            assert bool(entry.refused) if not entry.effect or entry.only else not entry.refused, name


WORDS = {"earliest", "executor", "false", "latest", "none", "source"}
"""Texts in the connector's class that are not options."""


def texts_of(data: bytes) -> set[str]:
    """The string literals of a Java class."""
    sizes = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
    constants: dict[int, str] = {}
    literals: set[int] = set()
    at, number = 10, 1
    while number < struct.unpack_from(">H", data, 8)[0]:
        tag = data[at]
        if tag == 1:
            length = struct.unpack_from(">H", data, at + 1)[0]
            constants[number] = data[at + 3 : at + 3 + length].decode(errors="replace")
            at += 3 + length
        else:
            if tag == 8:
                literals.add(struct.unpack_from(">H", data, at + 1)[0])
            at += 1 + sizes[tag]
        number += 2 if tag in (5, 6) else 1
    return {constants[literal] for literal in literals}


@pytest.mark.kafka
def test_no_option_of_sparks_own_connector_is_missing_and_the_page_invents_none() -> None:
    jar = next(jar for jar in spark_connector_jars() if jar.name.startswith("spark-sql-kafka"))
    with zipfile.ZipFile(jar) as classes:
        texts = texts_of(classes.read("org/apache/spark/sql/kafka010/KafkaSourceProvider$.class"))
    properties = set(CONSUMER_PROPERTIES) | set(PRODUCER_PROPERTIES)
    names = {text for text in texts if re.fullmatch(r"[a-z]+(\.[a-z]+)*", text)} - WORDS
    theirs = {name for name in names if name.removeprefix("kafka.") not in properties}
    ours = {*SOURCE_OPTIONS, *SINK_OPTIONS, *REFUSED_OPTIONS, *REFUSED_SINK_OPTIONS}
    assert theirs - {name.lower() for name in ours} == set()
    reported = {name.lower() for table in (SOURCE, SINK) for name, entry in table.items() if entry.spark}
    assert reported - theirs == {"checkpointlocation", "queryname"}, "those two are Spark's"
