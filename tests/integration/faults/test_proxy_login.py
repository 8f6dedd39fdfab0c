"""A proxy before brokers that require a login: the clients' logins pass through, or a secret guards the proxy's own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

import oncelog
from oncelog.apps.conformance.expect import CheckFailed
from oncelog.apps.conformance.raw.single_node import single_node
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.apps.proxy.proxy import FaultProxy, ProxyError
from oncelog.apps.proxy.proxy_login import LARGEST_TOKEN, USER
from oncelog.client.core.config import AdminConfig
from oncelog.protocol.generated.metadata_request import MetadataRequest
from tests.integration.security.certificates import Authority

LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.username": "anna",
    "sasl.password": "annas-secret",
}
SETTINGS = {"sasl.enabled.mechanisms": "SCRAM-SHA-256", "group.initial.rebalance.delay.ms": 0}
FIRST_USER = "SCRAM-SHA-256=[name=anna,password=annas-secret]"


@pytest.fixture(scope="module")
def secured() -> Iterator[str]:
    settings = {**SETTINGS, "listeners": "SASL_PLAINTEXT://127.0.0.1:0"}
    with oncelog.Broker(settings=settings, first_users=[FIRST_USER]) as broker:
        yield broker.bootstrap_servers


def write(servers: str, topic: str, properties: dict[str, str]) -> None:
    producer = Producer({"bootstrap.servers": servers, **properties})
    producer.produce(topic, b"value")
    assert producer.flush(60) == 0


def test_a_clients_own_login_passes_the_proxy(secured: str, unique_name: str) -> None:
    with FaultProxy(secured) as proxy, proxy.faults.lose_answer("Produce", topic=unique_name) as fault:
        assert proxy.client_properties == {}
        write(proxy.bootstrap_servers, unique_name, {**LOGIN, "enable.idempotence": "true"})
    assert fault.hits == 1


def test_a_clients_own_login_passes_the_proxy_to_a_tls_listener(tmp_path: Path, unique_name: str) -> None:
    authority = Authority(tmp_path)
    settings = {
        **SETTINGS,
        "listeners": "SASL_SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("server").store),
    }
    encrypting = {"security.protocol": "SSL", "ssl.cafile": str(authority.certificate)}
    with oncelog.Broker(settings=settings, first_users=[FIRST_USER]) as broker:
        with FaultProxy(broker.bootstrap_servers, upstream=encrypting) as proxy:
            assert proxy.client_properties == {}
            write(proxy.bootstrap_servers, unique_name, LOGIN)
        logging_in = {**encrypting, **LOGIN, "security.protocol": "SASL_SSL"}
        with FaultProxy(broker.bootstrap_servers, upstream=logging_in) as proxy:
            write(proxy.bootstrap_servers, unique_name, proxy.client_properties)


def test_a_proxy_with_a_login_accepts_only_clients_that_know_its_secret(secured: str, unique_name: str) -> None:
    with FaultProxy(secured, upstream=LOGIN) as proxy:
        write(proxy.bootstrap_servers, unique_name, proxy.client_properties)
        with RawConnection(proxy.bootstrap_servers) as nobody, pytest.raises(ConnectionClosed):
            nobody.ask(MetadataRequest(topics=[]), 1)
        with pytest.raises(CheckFailed, match="found SASL_AUTHENTICATION_FAILED"):
            RawConnection(proxy.bootstrap_servers, login={"sasl.username": USER, "sasl.password": "guessed"})
        with RawConnection(proxy.bootstrap_servers) as nobody:
            nobody.send_bytes((LARGEST_TOKEN + 1).to_bytes(4, "big"))
            with pytest.raises(ConnectionClosed):
                nobody.receive_frame()
        with RawConnection(proxy.bootstrap_servers, login=proxy.client_properties) as somebody:
            assert [broker.node_id for broker in somebody.ask(MetadataRequest(topics=[]), 1).brokers] == [1]
    with FaultProxy(secured, upstream=LOGIN) as another:
        assert another.client_properties["sasl.password"] != proxy.client_properties["sasl.password"]


def test_a_proxy_that_logs_in_is_open_to_everybody_only_on_request(secured: str) -> None:
    with FaultProxy(secured, upstream=LOGIN, open_to_all=True) as proxy:
        with RawConnection(proxy.bootstrap_servers) as anybody:
            assert anybody.ask(MetadataRequest(topics=[]), 1).brokers
        assert proxy.client_properties == {}


def test_advertised_addresses_that_are_unusable_or_public_are_refused() -> None:
    with pytest.raises(ProxyError, match=r"cannot connect to 0\.0\.0\.0:0: name one address"):
        FaultProxy("127.0.0.1:1", listen="0.0.0.0:0")
    with pytest.raises(ProxyError, match=r"only on this machine, not 192\.0\.2\.1:0"):
        FaultProxy("127.0.0.1:1", listen="192.0.2.1:0", upstream=LOGIN)


def test_the_proxy_of_conformance_and_lab_is_closed_to_others(secured: str) -> None:
    with single_node(AdminConfig.from_properties({"bootstrap.servers": secured, **LOGIN})) as (address, world):
        with RawConnection(address) as nobody, pytest.raises(ConnectionClosed):
            nobody.ask(MetadataRequest(topics=[]), 1)
        with RawConnection(address, world=world) as own, own.another() as second:
            assert second.ask(MetadataRequest(topics=[]), 1).brokers


def test_the_lab_runs_on_a_cluster_with_a_login(secured: str, tmp_path: Path) -> None:
    from oncelog.apps.lab.flows import FLOWS, run

    trace = run(FLOWS["commit"], AdminConfig.from_properties({"bootstrap.servers": secured, **LOGIN}))
    assert trace.promises
    assert all(promise.held for promise in trace.promises)
    assert all("Sasl" not in event.text for event in trace.events)


def test_the_command_proxy_reports_the_client_properties_for_its_login(
    secured: str, tmp_path: Path, unique_name: str
) -> None:
    login = tmp_path / "login.properties"
    login.write_text("".join(f"{name}={value}\n" for name, value in LOGIN.items()))
    command = [sys.executable, "-m", "oncelog", "proxy", "--to", secured, "--config", str(login), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            reported = json.loads(running.stdout.readline())
            write(reported["listening"], unique_name, reported["client_properties"])
        finally:
            running.kill()
    assert "annas-secret" not in json.dumps(reported)
