"""Listeners on all addresses of the machine, for clients in containers: what they are told is what they can reach."""

from __future__ import annotations

import urllib.request

import pytest

import oncelog
from oncelog.apps.proxy.proxy import ProxyError
from oncelog.errors import ConfigError
from oncelog.testing import FaultProxy

TWO = {
    "listen": "HOST://127.0.0.1:0,DOCKER://0.0.0.0:0",
    "advertised": "DOCKER://localhost:0",
    "settings": {"listener.security.protocol.map": "HOST:PLAINTEXT,DOCKER:PLAINTEXT"},
}


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "PLAINTEXT://0.0.0.0:9092", "[0:0:0:0:0:0:0:0]:0"])
def test_an_address_that_clients_cannot_connect_to_is_refused(listen: str) -> None:
    """Apache Kafka: "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0"."""
    with pytest.raises(ConfigError, match=r"which clients cannot connect to: name the host .* advertised\.listeners="):
        oncelog.Broker(listen=listen)
    with pytest.raises(ConfigError, match=r"advertised\.listeners cannot use"):
        oncelog.Broker(listen=listen, advertised="0.0.0.0:0")


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0"])
def test_clients_get_the_advertised_host_and_the_port_that_the_system_chose(listen: str) -> None:
    with oncelog.Broker(listen=listen, advertised="localhost:0") as broker:
        assert broker.bootstrap_servers == f"localhost:{broker.address.port}"
        with oncelog.Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            (node,) = admin.describe_cluster().nodes
        assert (node.host, node.port) == ("localhost", broker.address.port)


@pytest.mark.parametrize("nodes", [1, 3])
def test_each_listener_reports_its_own_host_to_its_clients(nodes: int) -> None:
    with oncelog.Broker(**TWO, nodes=nodes, schema_registry="0.0.0.0:0") as broker:  # type: ignore[arg-type]
        for name, host in (("HOST", "127.0.0.1"), ("DOCKER", "localhost")):
            servers = broker.bootstrap_servers_for(name).split(",")
            assert len(servers) == nodes
            with oncelog.Admin(bootstrap_servers=servers) as admin:
                found = {f"{node.host}:{node.port}" for node in admin.describe_cluster().nodes}
            assert found == set(servers)
            assert {server.partition(":")[0] for server in servers} == {host}
        assert broker.bootstrap_servers == broker.bootstrap_servers_for("HOST")
        url, before = broker.schema_registry_url, broker.bootstrap_servers_for("DOCKER")
        assert urllib.request.urlopen(f"{url}/subjects", timeout=60).read() == b"[]"
        with pytest.raises(oncelog.OncelogError, match="has no listener 'LAN': it has HOST, DOCKER"):
            broker.bootstrap_servers_for("LAN")
        broker.restart()
        assert (broker.schema_registry_url, broker.bootstrap_servers_for("DOCKER")) == (url, before)


def test_a_proxy_reports_the_advertised_host_to_its_clients() -> None:
    with oncelog.Broker() as broker:
        with pytest.raises(ProxyError, match=r"cannot connect to 0\.0\.0\.0:0: name one address, or the host"):
            FaultProxy(broker.bootstrap_servers, listen="0.0.0.0:0")
        with FaultProxy(broker.bootstrap_servers, listen="0.0.0.0:0", advertised="localhost") as proxy:
            assert proxy.bootstrap_servers.startswith("localhost:")
            with oncelog.Admin(bootstrap_servers=proxy.bootstrap_servers) as admin:
                assert [node.host for node in admin.describe_cluster().nodes] == ["localhost"]
