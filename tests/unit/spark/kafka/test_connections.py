"""The first connection of a Spark worker."""

from __future__ import annotations

import socket

import pytest

from oncelog.client.errors import KafkaTimeoutError
from oncelog.spark.kafka.connections import cluster_for
from oncelog.spark.options import parse_source_options


def test_a_broker_that_is_not_there_is_told_before_the_time_is_over(caplog: pytest.LogCaptureFixture) -> None:
    """A read seemed to hang for a minute, although the address may just be mistyped."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{nobody.getsockname()[1]}"
        given = {"kafka.bootstrap.servers": servers, "subscribe": "t", "kafka.default.api.timeout.ms": "700"}
        with pytest.raises(KafkaTimeoutError, match="connecting did not succeed within"):
            cluster_for(parse_source_options(given, streaming=False))
    (told,) = [record.getMessage() for record in caplog.records if record.name == "oncelog.spark.kafka.connections"]
    assert told.startswith("no broker could be reached")
    assert servers in told
    assert told.endswith("trying again until kafka.default.api.timeout.ms=700 is over")
