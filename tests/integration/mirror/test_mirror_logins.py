"""A mirror between clusters that encrypt and require a login, with no more rights than its page names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import oncelog
from oncelog.client.blocking import Admin, Consumer, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.protocol.acls import Acl, AclResourceType, Operation, PatternType, Permission
from oncelog.settings.properties_file import dump_properties
from oncelog.types import TopicPartition
from tests.integration.cli.conftest import Outcome, call
from tests.integration.security.certificates import Authority

TOPIC, GROUP, NAME = "orders", "billing", "moved"
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
CLUSTER = (AclResourceType.CLUSTER, "kafka-cluster", LITERAL)
TOPICS = (AclResourceType.TOPIC, TOPIC, LITERAL)
GROUPS = (AclResourceType.GROUP, GROUP, LITERAL)
MIRRORS = (AclResourceType.TOPIC, "oncelog-mirror.", PREFIXED)
ON_SOURCE = [
    (*TOPICS, Operation.READ),
    (*TOPICS, Operation.DESCRIBE_CONFIGS),
    (AclResourceType.TOPIC, "__consumer_offsets", LITERAL, Operation.READ),
    (*CLUSTER, Operation.DESCRIBE),
    (*GROUPS, Operation.DESCRIBE),
    (*MIRRORS, Operation.READ),
]
WRITTEN = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.ALTER_CONFIGS,
    Operation.DESCRIBE_CONFIGS,
    Operation.READ,
    Operation.WRITE,
)
ON_TARGET = [
    *((*TOPICS, operation) for operation in WRITTEN),
    *((AclResourceType.TOPIC, f"oncelog-mirror.{NAME}", LITERAL, operation) for operation in WRITTEN),
    (AclResourceType.TRANSACTIONAL_ID, f"oncelog-mirror-{NAME}", LITERAL, Operation.WRITE),
    (*GROUPS, Operation.READ),
    (*MIRRORS, Operation.READ),
]


@contextmanager
def secured(
    authority: Authority, protocol: str, rights: list[tuple[AclResourceType, str, PatternType, Operation]]
) -> Iterator[tuple[str, str]]:
    """A broker on which everybody may do everything, or on which ``mirror`` may do what ``rights`` says."""
    settings = {
        "listeners": "OPEN://127.0.0.1:0,ASKING://127.0.0.1:0",
        "listener.security.protocol.map": f"OPEN:PLAINTEXT,ASKING:{protocol}",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue(f"server-{protocol}").store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "ssl.principal.mapping.rules": r"RULE:^CN=(\w+)$/$1/L,DEFAULT",
        "listener.name.asking.ssl.client.auth": "required" if protocol == "SSL" else "none",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.asking.plain.sasl.jaas.config": (
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_mirror="secret";'
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with oncelog.Broker(settings=settings) as broker:
        servers = str(broker.addresses["OPEN"])
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_acls(
                [
                    Acl(kind, name, pattern, "User:mirror", "*", operation, Permission.ALLOW)
                    for kind, name, pattern, operation in rights
                ]
            )
        yield servers, str(broker.addresses["ASKING"])


def properties(file: Path, authority: Authority, servers: str, more: Mapping[str, str]) -> Path:
    trusting = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(authority.certificate)}
    file.write_text(dump_properties({"bootstrap.servers": servers, **trusting, **more}))
    return file


def mirror(source: Path, target: Path) -> Outcome:
    files = ("--from-config", str(source), "--to-config", str(target))
    return call("mirror", *files, "--name", NAME, "--topic", TOPIC, "--switch-over", "--json")


def write(servers: str) -> None:
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 1)])
    with Producer(bootstrap_servers=servers, transactional_id="shop") as producer:
        for value in (b"one", b"two", b"three"):
            with producer.transaction():
                producer.send(TOPIC, value)
    with Admin(bootstrap_servers=servers) as admin:
        admin.alter_consumer_group_offsets(GROUP, {TopicPartition(TOPIC, 0): 2})


def read_on(servers: str, count: int) -> list[bytes | None]:
    """What its group has not read yet."""
    with Consumer(TOPIC, bootstrap_servers=servers, group_id=GROUP, isolation_level="read_committed") as consumer:
        return [next(consumer).value for _ in range(count)]


def test_a_mirror_runs_over_tls_with_only_the_documented_permissions(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    key = authority.issue("mirror", "CN=Mirror")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    with (
        secured(authority, "SASL_SSL", ON_SOURCE) as (source, source_asking),
        secured(authority, "SSL", ON_TARGET) as (target, target_asking),
    ):
        write(source)
        login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
        jaas = {"sasl.jaas.config": f'{module} required username="mirror" password="secret";'}
        wrong = {"sasl.jaas.config": f'{module} required username="mirror" password="guess";'}
        shown = {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.location": str(key.store)}
        to = properties(tmp_path / "to", authority, target_asking, shown)
        refused = mirror(properties(tmp_path / "wrong", authority, source_asking, login | wrong), to).sentence()
        assert "Authentication failed" in refused
        mirror(properties(tmp_path / "from", authority, source_asking, login | jaas), to).done()
        assert read_on(target, 2) == [b"two", b"three"]
