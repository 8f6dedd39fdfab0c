"""A registry with TLS whose users are those of the cluster, with the rights of its ACLs on the topic."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.broker.server.listener_settings import Address
from oncelog.client.blocking import Admin
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import Login, RegistrySettings
from tests.integration.security.certificates import Authority

TOPIC = "_schemas"
USERS = ("registry", "writer", "reader", "nobody")
OWN = (Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS)
RIGHTS = [
    *((AclResourceType.TOPIC, TOPIC, "registry", operation) for operation in OWN),
    (AclResourceType.TRANSACTIONAL_ID, "oncelog-schema-registry-_schemas", "registry", Operation.WRITE),
    (AclResourceType.TOPIC, TOPIC, "writer", Operation.READ),
    (AclResourceType.TOPIC, TOPIC, "writer", Operation.WRITE),
    (AclResourceType.TOPIC, TOPIC, "reader", Operation.READ),
]
"""The registry's own as docs/how-to/schemas.md names them."""


@pytest.fixture
def servers() -> Iterator[str]:
    """A broker that asks for a login."""
    passwords = " ".join(f'user_{user}="{user}-secret"' for user in USERS)
    settings = {
        "listeners": "OPEN://127.0.0.1:0,ASKING://127.0.0.1:0",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,ASKING:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.asking.plain.sasl.jaas.config": (
            f"org.apache.kafka.common.security.plain.PlainLoginModule required {passwords};"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with oncelog.Broker(settings=settings) as broker:
        with Admin(bootstrap_servers=str(broker.addresses["OPEN"])) as admin:
            admin.create_acls(
                [
                    Acl(kind, name, PatternType.LITERAL, f"User:{user}", "*", operation, Permission.ALLOW)
                    for kind, name, user, operation in RIGHTS
                ]
            )
        yield str(broker.addresses["ASKING"])


def test_a_user_who_may_write_to_the_topic_may_register(servers: str, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    identity = authority.issue("registry")
    properties = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "registry",
        "sasl.password": "registry-secret",
    }
    settings = RegistrySettings(
        properties, login=Login.KAFKA, certificate=str(identity.certificate), key=str(identity.key)
    )
    registry = RegistryThread(settings, Address("127.0.0.1", 0)).start()
    trusted = ssl.create_default_context(cafile=str(authority.certificate))

    def ask(user: str | None, method: str, path: str, body: Any = None, password: str | None = None) -> tuple[int, Any]:
        connection = HTTPSConnection("127.0.0.1", registry.address.port, context=trusted, timeout=120)
        headers = {"Content-Type": "application/json"}
        if user is not None:
            word = base64.b64encode(f"{user}:{password or f'{user}-secret'}".encode()).decode()
            headers["Authorization"] = f"Basic {word}"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        found = response.status, json.loads(response.read())
        connection.close()
        return found

    try:
        schema = {"schema": '"string"'}
        assert registry.url.startswith("https://")
        status, registered = ask("writer", "POST", "/subjects/x/versions", schema)
        assert (status, registered["id"]) == (200, 1)
        assert ask("reader", "GET", "/subjects") == (200, ["x"])
        assert ask("reader", "POST", "/subjects/x", schema)[0] == 200, "it asks whether it is there"
        for method, path, body in (
            ("POST", "/subjects/y/versions", schema),
            ("DELETE", "/subjects/x", None),
            ("PUT", "/config", {"compatibility": "NONE"}),
        ):
            assert ask("reader", method, path, body)[0] == 403
            assert ask(None, method, path, body)[0] == 401
        assert ask("nobody", "GET", "/subjects")[0] == 403
        assert ask("writer", "GET", "/subjects", password="wrong")[0] == 401
        assert ask("writer", "GET", "/subjects") == (200, ["x"])
    finally:
        registry.stop()
