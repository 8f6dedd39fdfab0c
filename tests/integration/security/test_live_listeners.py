"""Listeners, logins and their limits that change while the broker runs apply to new connections at once."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import ConnectionClosed, RawConnection
from oncelog.broker.core.cluster.node import SimulatedNode
from oncelog.broker.server import opening
from oncelog.broker.server.disk.os_disk import ForeignFile
from oncelog.broker.server.listener_settings import Address, parse_listeners
from oncelog.broker.server.listeners.acceptors import Acceptor
from oncelog.broker.server.nodes import Nodes
from oncelog.broker.server.opening import bind
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from oncelog.protocol.generated.metadata_request import MetadataRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from tests.integration.security.certificates import Authority
from tests.integration.security.sides import PASSWORD, PLAIN_MODULE, Side, logged_in, oncelog_side
from tests.support.free_ports import free_ports

BROKER = 4
INVALID_REQUEST = 42
JAAS = "listener.name.clients.plain.sasl.jaas.config"
PROTOCOLS = "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT,EXTRA:PLAINTEXT,TLS:SSL"
TESTED: set[str] = set()
T = TypeVar("T")


def effect_of(*names: str) -> Callable[[T], T]:
    """Marks a test as covering these settings; ``test_live_tls.py`` checks that there is one for each."""
    TESTED.update(names)
    return lambda test: test


@pytest.fixture
def side() -> Iterator[Side]:
    with oncelog_side({}) as running:
        yield running


def alter(
    servers: str, values: Mapping[str, str], *, delete: Sequence[str] = (), name: str = "1"
) -> tuple[int, str | None]:
    changes = [AlterableConfig(key, 0, value) for key, value in values.items()]
    changes += [AlterableConfig(key, 1, None) for key in delete]
    with RawConnection(servers) as admin:
        answer = admin.ask(IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, name, changes)], False), 1)
        (response,) = answer.responses
        return response.error_code, response.error_message


def accepted(servers: str, values: Mapping[str, str], *, delete: Sequence[str] = ()) -> None:
    assert alter(servers, values, delete=delete) == (0, None)


def answers(servers: str) -> bool:
    """Whether a connection is accepted and served."""
    try:
        with RawConnection(servers) as client:
            return bool(client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0)
    except (ConnectionClosed, OSError):
        return False


def served_brokers(servers: str) -> list[tuple[str, int]]:
    with RawConnection(servers) as client:
        return [(broker.host, broker.port) for broker in client.ask(MetadataRequest([], False), 9).brokers]


def both(side: Side) -> str:
    return f"PLAINTEXT://{side.open_servers},CLIENTS://{side.asking_servers}"


@effect_of("listeners", "listener.security.protocol.map")
def test_a_listener_is_added_and_removed_with_its_connections(side: Side) -> None:
    (port,) = free_ports(1)
    extra = f"127.0.0.1:{port}"
    with_it = f"{both(side)},EXTRA://{extra}"
    code, message = alter(side.open_servers, {"listeners": with_it})
    assert code == INVALID_REQUEST
    assert message is not None and message.startswith("No security protocol defined for listener EXTRA")
    accepted(side.open_servers, {"listeners": with_it, "listener.security.protocol.map": PROTOCOLS})
    eventually(lambda: answers(extra))
    assert served_brokers(extra) == [("127.0.0.1", port)], "it tells clients of itself"
    with RawConnection(extra) as client, side.connect("alice") as other:
        assert client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0
        accepted(side.open_servers, {"listeners": both(side)})
        with pytest.raises((ConnectionClosed, OSError)):
            client.receive_frame()
        assert other.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0
    eventually(lambda: not answers(extra))


def test_deleting_the_setting_restores_the_first_listeners(side: Side) -> None:
    accepted(side.open_servers, {"listeners": f"PLAINTEXT://{side.open_servers}"})
    eventually(lambda: not answers(side.asking_servers))
    accepted(side.open_servers, {}, delete=["listeners"])
    eventually(lambda: answers(side.asking_servers))
    side.connect("alice").close()


def test_an_invalid_listener_is_refused_and_changes_nothing(side: Side, tmp_path: Path) -> None:
    protocols = {"listener.security.protocol.map": PROTOCOLS}
    with RawConnection(side.open_servers) as client:
        for listeners, words in (
            ("nonsense", "nonsense"),
            (f"{both(side)},EXTRA://{side.open_servers}", "different port"),
            (f"PLAINTEXT://{side.open_servers},PLAINTEXT://127.0.0.1:0", "different name"),
            (f"{both(side)},TLS://127.0.0.1:0", "ssl.keystore"),
        ):
            code, message = alter(side.open_servers, {"listeners": listeners, **protocols})
            assert code == INVALID_REQUEST, listeners
            assert message is not None and words in message
        other = PROTOCOLS.replace("CLIENTS:SASL_PLAINTEXT", "CLIENTS:PLAINTEXT")
        assert alter(side.open_servers, {"listener.security.protocol.map": other}) == (
            INVALID_REQUEST,
            "Security protocol cannot be updated for existing listener ListenerName(CLIENTS)",
        )
        assert client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0
    side.connect("alice").close()


def test_a_host_name_is_not_looked_up_while_the_broker_runs() -> None:
    with oncelog.Broker() as broker:
        listeners = f"PLAINTEXT://{broker.bootstrap_servers},EXTRA://kafka.invalid:0"
        protocols = "PLAINTEXT:PLAINTEXT,EXTRA:PLAINTEXT"
        code, message = alter(
            broker.bootstrap_servers, {"listeners": listeners, "listener.security.protocol.map": protocols}
        )
        assert code == INVALID_REQUEST
        assert message is not None and "names the host kafka.invalid" in message
        assert answers(broker.bootstrap_servers)


def test_each_broker_has_its_own_listeners(side: Side) -> None:
    code, message = alter(side.open_servers, {"listeners": both(side)}, name="")
    assert (code, message) == (
        INVALID_REQUEST,
        "Cannot update these configs at default cluster level, broker id must be specified: [listeners]",
    )


def test_a_tls_listener_is_added_while_the_broker_runs(side: Side, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    settings = {
        "listeners": f"{both(side)},TLS://127.0.0.1:{port}",
        "listener.security.protocol.map": PROTOCOLS,
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(Authority(tmp_path).issue("server").store),
    }
    accepted(side.open_servers, settings)

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def greets() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), 10) as plain, context.wrap_socket(plain) as encrypted:
                return encrypted.version() is not None
        except ConnectionRefusedError:
            return False

    eventually(greets)


def test_a_dynamically_added_listener_exists_after_a_restart(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    extra = f"127.0.0.1:{port}"
    with oncelog.Broker(tmp_path) as broker:
        first = broker.bootstrap_servers
        protocols = {"listener.security.protocol.map": PROTOCOLS}
        accepted(first, {"listeners": f"PLAINTEXT://{first},EXTRA://{extra}", **protocols})
        eventually(lambda: answers(extra))
        broker.restart()
        eventually(lambda: answers(extra))
        assert answers(broker.bootstrap_servers)


def mechanisms(side: Side) -> list[str]:
    with RawConnection(side.asking_servers) as client:
        found: list[str] = client.ask(SaslHandshakeRequest("NONE"), 1).mechanisms
        return found


def test_a_port_in_use_at_the_next_start_leaves_the_configured_listeners(tmp_path: Path) -> None:
    (second,) = free_ports(1)
    with oncelog.Broker(tmp_path) as broker:
        accepted(broker.bootstrap_servers, {"listeners": f"PLAINTEXT://127.0.0.1:{second}"})
        eventually(lambda: answers(f"127.0.0.1:{second}"))
    with socket.create_server(("127.0.0.1", second)), oncelog.Broker(tmp_path) as broker:
        for _ in range(3):
            assert answers(broker.bootstrap_servers)


@effect_of("sasl.enabled.mechanisms", "sasl.jaas.config")
def test_a_change_of_mechanisms_or_users_applies_from_the_next_login(side: Side) -> None:
    with side.connect("bob") as client:
        accepted(side.open_servers, {"listener.name.clients.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"})
        eventually(lambda: mechanisms(side) == ["PLAIN", "SCRAM-SHA-256"])
        accepted(side.open_servers, {JAAS: PLAIN_MODULE.replace("user_bob", "user_carol") + ";"})

        def carol() -> bool:
            try:
                logged_in(side.asking_servers, "carol", PASSWORD).close()
            except AssertionError:
                return False
            return True

        eventually(carol)
        with pytest.raises(AssertionError):
            side.connect("bob")
        assert client.ask(ApiVersionsRequest("test", "1"), 3).error_code == 0, "a session goes on"


def test_invalid_users_or_mechanisms_are_refused(side: Side) -> None:
    for settings, words in (
        ({JAAS: "rubbish"}, "sasl.jaas.config"),
        ({"listener.name.clients.sasl.enabled.mechanisms": "GSSAPI"}, "GSSAPI"),
        ({"listener.name.clients.sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER"}, "OAUTHBEARER only at a start"),
    ):
        code, message = alter(side.open_servers, settings)
        assert code == INVALID_REQUEST, settings
        assert message is not None and words in message
        assert PASSWORD not in message
    side.connect("alice").close()


def test_a_listener_has_its_own_connection_limit(side: Side) -> None:
    accepted(side.open_servers, {"listener.name.clients.max.connections": "1"})
    first = side.connect("alice")
    try:
        assert not answers(side.asking_servers)
        assert answers(side.open_servers), "the other listener has no such limit"
        accepted(side.open_servers, {"listener.name.clients.max.connections": "2"})
        side.connect("alice").close()
    finally:
        first.close()


def test_a_listener_has_its_own_connection_rate(side: Side) -> None:
    rate = "listener.name.clients.max.connection.creation.rate"
    accepted(side.open_servers, {rate: "0"})
    with RawConnection(side.asking_servers, timeout_s=0.2) as late:
        with pytest.raises(TimeoutError):
            late.ask(ApiVersionsRequest("test", "1"), 3)
        assert answers(side.open_servers), "the other listener has no such limit"
    accepted(side.open_servers, {}, delete=[rate])
    side.connect("alice").close()


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_a_listener_removed_while_it_opens_does_not_stay_open(turns: int) -> None:
    with oncelog.Broker() as broker:

        def begin(nodes: Nodes) -> tuple[str, int]:
            server, loop = nodes.server, nodes.server.loop
            sock = bind(Address("127.0.0.1", 0))
            port = sock.getsockname()[1]
            (listener,) = parse_listeners(f"127.0.0.1:{port}", {}, "")
            listener = listener._replace(name="EXTRA")
            acceptor = Acceptor(listener, sock, SimulatedNode(0, "127.0.0.1", port), server.broker, loop.time)
            server.open_later(acceptor)

            def shut(turns: int) -> None:
                if turns:
                    loop.call_soon(shut, turns - 1)
                else:
                    server.shut(acceptor, "it is gone")

            shut(turns)
            return "127.0.0.1", port

        address = broker.on_loop(begin)
        eventually(lambda: not broker.on_loop(lambda nodes: nodes.server._opening))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address).close()


def test_listeners_that_change_while_the_broker_stops_are_opened_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, extra = free_ports(2)
    goes_on, held, real = threading.Event(), threading.Event(), ForeignFile.sync

    def sync(file: ForeignFile) -> None:
        if not goes_on.is_set():
            held.set()
            assert goes_on.wait(60)
        real(file)

    monkeypatch.setattr(ForeignFile, "sync", sync)
    goes_on.set()
    changed = {
        "listeners": f"PLAINTEXT://127.0.0.1:{given},EXTRA://127.0.0.1:{extra}",
        "listener.security.protocol.map": PROTOCOLS,
    }
    broker = oncelog.Broker(tmp_path, settings={"listeners": f"PLAINTEXT://127.0.0.1:{given}"})
    with broker:
        with RawConnection(f"127.0.0.1:{given}") as admin:
            admin.create_topic("t")
            goes_on.clear()
            values = [AlterableConfig(key, 0, value) for key, value in changed.items()]
            request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER, "1", values)], False)
            admin.send(request.API_KEY, 1, request.encode(1))
            assert held.wait(60)
            bound: list[Address] = []
            with monkeypatch.context() as patched:
                patched.setattr(opening, "bind", lambda address: bound.append(address) or bind(address))
                threading.Timer(0.2, goes_on.set).start()
                broker.stop()
        assert not bound
        broker.start()
        eventually(lambda: answers(f"127.0.0.1:{extra}"))
