"""Check 27: what clients refuse before a broker sees anything."""

from __future__ import annotations

import pytest

from oncelog.client.core.config import ProducerConfig
from oncelog.errors import ConfigError
from tests.support.apache_kafka import KafkaFailed, run_tool


def test_check_27_idempotence_with_acks_1_is_refused_by_the_client() -> None:
    with pytest.raises(ConfigError, match="acks"):
        ProducerConfig.from_properties({"enable.idempotence": "true", "acks": "1"})


@pytest.mark.kafka
def test_check_27_idempotence_with_acks_1_is_refused_by_kafkas_client(kafka_jars: object) -> None:
    with pytest.raises(KafkaFailed, match="Must set acks to all in order to use the idempotent producer"):
        run_tool(
            "org.apache.kafka.tools.ConsoleProducer",
            *("--bootstrap-server", "127.0.0.1:1", "--topic", "x"),
            *("--command-property", "enable.idempotence=true", "--command-property", "acks=1"),
        )
