"""The connections of a Spark worker: the first one, and how long they live."""

from __future__ import annotations

import socket

import pytest

from oncelog import Broker
from oncelog.client.errors import KafkaTimeoutError
from oncelog.spark.kafka.connections import Connections, cluster_for
from oncelog.spark.options import parse_source_options


def test_a_broker_that_does_not_exist_is_reported_before_the_time_is_over(caplog: pytest.LogCaptureFixture) -> None:
    """A read seemed to hang for a minute, although the address may just be mistyped."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{nobody.getsockname()[1]}"
        given = {"kafka.bootstrap.servers": servers, "subscribe": "t", "kafka.default.api.timeout.ms": "700"}
        with pytest.raises(KafkaTimeoutError, match="connecting did not succeed within"):
            cluster_for(parse_source_options(given, streaming=False))
    (reported,) = [record.getMessage() for record in caplog.records if record.name == "oncelog.spark.kafka.connections"]
    assert reported.startswith("no broker could be reached")
    assert servers in reported
    assert reported.endswith("trying again until kafka.default.api.timeout.ms=700 has passed")


def test_options_that_connect_alike_share_a_client_until_it_is_closed() -> None:
    with Broker() as broker:
        given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "t"}
        options = parse_source_options(given, streaming=False)
        connections = Connections()
        shared = connections.cluster(options)
        assert connections.cluster(parse_source_options(given | {"subscribe": "u"}, streaming=False)) is shared
        assert shared.partition_counts(["none"]) == {}
        connections.close()
        again = connections.cluster(options)
        assert again is not shared
        assert again.partition_counts(["none"]) == {}
        connections.close()
