"""The table of Java's client settings agrees with Apache Kafka's own classes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from oncelog.client.core.java_settings import JAVA_SETTINGS

pytestmark = pytest.mark.kafka

PROGRAM = Path(__file__).parent / "ClientSettings.java"
CLASSES = "class org.apache.kafka.clients.consumer."


def test_every_client_setting_and_default_equals_that_of_the_java_client(kafka_jars: Path) -> None:
    ended = subprocess.run(
        ["java", "-cp", f"{kafka_jars}/*", str(PROGRAM)], capture_output=True, text=True, timeout=300, check=True
    )
    java: dict[str, set[str]] = {}
    for line in ended.stdout.splitlines():
        name, _, default = line.partition("\t")
        java.setdefault(name, set()).add("-" if default.startswith(CLASSES) else default)
    assert {name: set(defaults) for name, defaults in JAVA_SETTINGS.items()} == java
