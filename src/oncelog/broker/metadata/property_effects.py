"""The effects of broker properties that are neither fields of ``BrokerConfig`` nor defaults of topics.

Such properties are read as strings: before the configuration exists, for one listener, or for a single purpose. Every
other property of Kafka has no effect here. Used by DescribeConfigs and for the reference pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from oncelog.settings.kafka_properties import group_properties

SECURITY: Mapping[str, Mapping[str, str]] = {
    "Listeners": {
        "listeners": "Where to listen: NAME://HOST:PORT, separated by commas.",
        "advertised.listeners": "The addresses that clients connect to, by listener.",
        "listener.security.protocol.map": "NAME:PROTOCOL of each listener.",
        "controller.listener.names": "Listeners that are ignored: there is no controller here.",
        "max.connections": "Maximum number of connections; also for one listener.",
        "max.connections.per.ip": "Maximum number of connections from one address.",
        "max.connections.per.ip.overrides": "Maximum number of connections from each named address.",
        "max.connection.creation.rate": "Maximum number of new connections per second; also for one listener.",
        "connections.max.idle.ms": "A connection without a request for this long is closed.",
    },
    "TLS": {
        "ssl.keystore.type": "PEM is read here.",
        "ssl.keystore.location": "File with the key and its certificate chain; read again when it has changed.",
        "ssl.keystore.key": "The key itself, instead of a file.",
        "ssl.keystore.certificate.chain": "Its certificates themselves, instead of a file.",
        "ssl.key.password": "Password of the key.",
        "ssl.truststore.type": "PEM is read here.",
        "ssl.truststore.location": "File with the authorities that sign clients' certificates.",
        "ssl.truststore.certificates": "The authorities themselves, instead of a file.",
        "ssl.client.auth": "Whether clients present a certificate. A SASL_SSL listener uses only its own setting.",
        "ssl.enabled.protocols": "Versions of TLS.",
        "ssl.cipher.suites": "Cipher suites, by their names in Java; empty for OpenSSL's choice.",
        "ssl.principal.mapping.rules": "How a certificate's subject becomes a principal.",
    },
    "Login": {
        "sasl.enabled.mechanisms": "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER; the default is refused.",
        "sasl.jaas.config": (
            "Users of PLAIN, as `listener.name.NAME.plain.sasl.jaas.config`; SCRAM and OAUTHBEARER need none."
        ),
        "sasl.server.max.receive.size": "Bytes of a request before the login is done, at most.",
        "connections.max.reauth.ms": "Length of a session, also by mechanism (KIP-368); 0 is without an end.",
        "connection.failed.authentication.delay.ms": "How long a refusal waits.",
        "sasl.oauthbearer.jwks.endpoint.url": "Keys that sign tokens: an https:, http: or file: URL of a JWKS.",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms": "How often they are fetched.",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "How soon they are fetched again after a failure.",
        "sasl.oauthbearer.clock.skew.seconds": "By how much clocks may differ.",
        "sasl.oauthbearer.expected.audience": "Audiences, one of which a token must name.",
        "sasl.oauthbearer.expected.issuer": "The issuer that a token must name.",
        "sasl.oauthbearer.sub.claim.name": "The claim with the user's name.",
    },
    "Rights": {
        "authorizer.class.name": "`org.apache.kafka.metadata.authorizer.StandardAuthorizer`, or nobody is asked.",
        "super.users": "Principals that may do everything: User:NAME, several with semicolons.",
        "allow.everyone.if.no.acl.found": "Whether a resource without an ACL is everybody's.",
    },
}
"""The effects of security properties, by the headings of the reference page."""

OTHERS: Mapping[str, str] = {
    "broker.id": "Older name of node.id; -1: node.id counts.",
    "errors.deadletterqueue.auto.create.topics.enable": "Whether missing topics of dead letters are created.",
    "errors.deadletterqueue.topic.name.prefix": "How names of topics of dead letters begin.",
    "group.consumer.assignment.interval.ms": (
        "Minimum time between two assignments of a group of the consumer protocol."
    ),
    "group.consumer.heartbeat.interval.ms": "Heartbeat interval of the consumer protocol.",
    "group.consumer.migration.policy": "Whether a group with members may change between both protocols (KIP-848).",
    "group.consumer.session.timeout.ms": "Session timeout of the consumer protocol.",
    "group.share.assignment.interval.ms": "Minimum time between two assignments of a share group.",
    "group.share.delivery.count.limit": "How often a record is delivered to a share group at most.",
    "group.share.heartbeat.interval.ms": "Heartbeat interval of share groups.",
    "group.share.max.share.sessions": "Maximum number of share sessions.",
    "group.share.max.size": "Maximum number of members of a share group.",
    "group.share.partition.max.record.locks": "Maximum number of a partition's records in flight in a share group.",
    "group.share.record.lock.duration.ms": "How long a member of a share group holds a record that it has acquired.",
    "group.share.session.timeout.ms": "Session timeout of share groups.",
    "group.streams.assignors": "What a group's streams.assignor.name may be.",
    "log.dir": "The same, if log.dirs is not given; the default does not count.",
    "log.dirs": "The data folder, a single one, if the command names none.",
    "max.request.partition.size.limit": "Maximum number of partitions in one answer to DescribeTopicPartitions.",
    "quota.window.num": "For how many windows of quota.window.size.seconds a client keeps what it has not used.",
    "quota.window.size.seconds": "Length of a quota's window, and the longest wait for request_percentage.",
    "replica.lag.time.max.ms": "With several nodes: a replica that does not copy for this long is out of sync.",
    "share.coordinator.snapshot.update.records.per.snapshot": "Updates of a share partition's state between snapshots.",
    "share.coordinator.state.topic.min.isr": "min.insync.replicas of __share_group_state.",
    "share.coordinator.state.topic.num.partitions": "Partitions of __share_group_state.",
    "share.coordinator.state.topic.replication.factor": "Replicas of each partition of __share_group_state.",
    "share.coordinator.state.topic.segment.bytes": "segment.bytes of __share_group_state.",
}
_EFFECTS = {**OTHERS, **{name: effect for names in SECURITY.values() for name, effect in names.items()}}


def effect_of(name: str) -> str | None:
    """The effect of a property; None if it has no effect here."""
    return "Bound of a group's setting, and of the broker's own." if name in _bounds() else _EFFECTS.get(name)


@cache
def _bounds() -> frozenset[str]:
    named = [name.partition(".") for name in group_properties()]
    return frozenset(
        f"group.{protocol}.{bound}.{rest.removeprefix('num.')}"
        for protocol, _, rest in named
        for bound in ("min", "max")
    )
