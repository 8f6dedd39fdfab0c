"""Two brokers with the same rules: ours and Apache Kafka with its StandardAuthorizer, each with two listeners.

On ``PLAINTEXT`` everybody is a super user; ``CLIENTS`` requires SASL PLAIN.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.protocol.generated.create_acls_request import AclCreation, CreateAclsRequest
from oncelog.protocol.generated.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from oncelog.protocol.generated.describe_acls_request import DescribeAclsRequest
from oncelog.protocol.generated.sasl_authenticate_request import SaslAuthenticateRequest
from oncelog.protocol.generated.sasl_handshake_request import SaslHandshakeRequest
from tests.support.apache_kafka import ApacheKafka
from tests.support.free_ports import free_ports

PASSWORD = "secret"
USERS = ("alice", "bob")
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required " + " ".join(
    f'user_{user}="{PASSWORD}"' for user in USERS
)
COMMON = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": f"{PLAIN_MODULE};",
    "auto.create.topics.enable": "true",
    "num.partitions": "1",
}
ANY, MATCH = 1, 2


class Rule(NamedTuple):
    """An ACL, in the order of the request's fields."""

    kind: int
    name: str
    pattern: int
    principal: str
    host: str
    operation: int
    permission: int


class Side:
    """One broker, with a connection of a super user."""

    def __init__(self, name: str, open_servers: str, asking_servers: str) -> None:
        self.name = name
        self.open_servers = open_servers
        self.asking_servers = asking_servers
        self.admin = RawConnection(open_servers)

    def connect(self, user: str) -> RawConnection:
        """A connection that has logged in."""
        return logged_in(self.asking_servers, user, PASSWORD)

    def set_rules(self, *rules: Rule) -> None:
        """Make these the only ACLs, and return when they are in force."""
        everything = DeleteAclsFilter(ANY, None, ANY, None, None, ANY, ANY)
        self.admin.ask(DeleteAclsRequest([everything]), 3)
        if rules:
            answer = self.admin.ask(CreateAclsRequest([AclCreation(*rule) for rule in rules]), 3)
            assert [result.error_code for result in answer.results] == [0] * len(rules), answer
        eventually(lambda: self._rules() == set(rules))

    def _rules(self) -> set[Rule]:
        answer = self.admin.ask(DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY), 3)
        assert answer.error_code == 0, answer
        return {
            Rule(
                found.resource_type,
                found.resource_name,
                found.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )
            for found in answer.resources
            for acl in found.acls
        }


def logged_in(servers: str, user: str, password: str) -> RawConnection:
    connection = RawConnection(servers)
    assert connection.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == 0
    answer = connection.ask(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), 2)
    assert answer.error_code == 0, answer
    return connection


@contextmanager
def oncelog_side(settings: Mapping[str, str]) -> Iterator[Side]:
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,CLIENTS://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT",
        "group.initial.rebalance.delay.ms": "0",
    }
    with oncelog.Broker(settings={**COMMON, **listeners, **settings}) as broker:
        side = Side("oncelog", str(broker.addresses["PLAINTEXT"]), str(broker.addresses["CLIENTS"]))
        with side.admin:
            yield side


@contextmanager
def kafka_side(settings: Mapping[str, str]) -> Iterator[Side]:
    node = ApacheKafka()
    asking, controller = free_ports(2)
    clients = f"CLIENTS://127.0.0.1:{asking}"
    try:
        node.start(
            {
                **COMMON,
                "listeners": f"PLAINTEXT://{node.bootstrap_servers},{clients},CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": f"PLAINTEXT://{node.bootstrap_servers},{clients}",
                "controller.quorum.voters": f"1@127.0.0.1:{controller}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
                **settings,
            }
        )
        side = Side("kafka", node.bootstrap_servers, f"127.0.0.1:{asking}")
        with side.admin:
            yield side
    finally:
        node.close()
