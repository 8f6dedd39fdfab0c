"""The settings of Apache Kafka's Java clients, for properties files written for them.

Called by :mod:`oncelog.client.core.config`: a setting that only Java's clients have is ignored with a warning, as
Java's clients ignore a setting that they lack. A name that no client knows is refused as a typo.
``tests/compatibility/interop/settings`` compares the table with the classes ``ProducerConfig``, ``ConsumerConfig`` and
``AdminClientConfig`` of Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping

_TABLE = """\
acks all
allow.auto.create.topics true
auto.commit.interval.ms 5000
auto.offset.reset latest
batch.size 16384
bootstrap.controllers
bootstrap.resolve.timeout.ms 0
bootstrap.servers
buffer.memory 33554432
buffer.memory.allocation.strategy full
check.crcs true
client.dns.lookup use_all_dns_ips
client.id
client.rack
compression.gzip.level -1
compression.lz4.level 9
compression.type none
compression.zstd.level 3
config.providers
connections.max.idle.ms 300000 | 540000
default.api.timeout.ms 60000
delivery.timeout.ms 120000
enable.auto.commit true
enable.idempotence true
enable.metrics.push false | true
exclude.internal.topics true
fetch.max.bytes 52428800
fetch.max.wait.ms 500
fetch.min.bytes 1
group.id
group.instance.id
group.protocol classic
group.remote.assignor
heartbeat.interval.ms 3000
interceptor.classes
internal.throw.on.fetch.stable.offset.unsupported false
isolation.level read_uncommitted
key.deserializer
key.serializer
linger.ms 5
max.block.ms 60000
max.in.flight.requests.per.connection 5
max.partition.fetch.bytes 1048576
max.poll.interval.ms 300000
max.poll.records 500
max.request.size 1048576
metadata.cluster.check.enable true
metadata.max.age.ms 300000
metadata.max.idle.ms 300000
metadata.recovery.rebootstrap.trigger.ms 300000
metadata.recovery.strategy rebootstrap
metric.reporters org.apache.kafka.common.metrics.JmxReporter
metrics.num.samples 2
metrics.recording.level INFO
metrics.sample.window.ms 30000
partition.assignment.strategy -
partitioner.adaptive.partitioning.enable true
partitioner.availability.timeout.ms 0
partitioner.class
partitioner.ignore.keys false
partitioner.rack.aware false
receive.buffer.bytes 32768 | 65536
reconnect.backoff.max.ms 1000
reconnect.backoff.ms 50
request.timeout.ms 30000
retries 2147483647
retry.backoff.max.ms 1000
retry.backoff.ms 100
sasl.client.callback.handler.class
sasl.jaas.config
sasl.kerberos.kinit.cmd /usr/bin/kinit
sasl.kerberos.min.time.before.relogin 60000
sasl.kerberos.service.name
sasl.kerberos.ticket.renew.jitter 0.05
sasl.kerberos.ticket.renew.window.factor 0.8
sasl.login.callback.handler.class
sasl.login.class
sasl.login.connect.timeout.ms
sasl.login.read.timeout.ms
sasl.login.refresh.buffer.seconds 300
sasl.login.refresh.min.period.seconds 60
sasl.login.refresh.window.factor 0.8
sasl.login.refresh.window.jitter 0.05
sasl.login.retry.backoff.max.ms 10000
sasl.login.retry.backoff.ms 100
sasl.mechanism GSSAPI
sasl.oauthbearer.allow.unverified.audience false
sasl.oauthbearer.allow.unverified.issuer false
sasl.oauthbearer.assertion.algorithm RS256
sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds 300
sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include false
sasl.oauthbearer.assertion.claim.nbf.seconds 60
sasl.oauthbearer.assertion.claim.sub
sasl.oauthbearer.assertion.file
sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.credentials.client.secret
sasl.oauthbearer.clock.skew.seconds 30
sasl.oauthbearer.expected.audience
sasl.oauthbearer.expected.issuer
sasl.oauthbearer.header.urlencode false
sasl.oauthbearer.jwks.endpoint.refresh.ms 3600000
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms 10000
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms 100
sasl.oauthbearer.jwks.endpoint.url
sasl.oauthbearer.jwt.retriever.class org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
sasl.oauthbearer.jwt.validator.class org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
sasl.oauthbearer.scope
sasl.oauthbearer.scope.claim.name scope
sasl.oauthbearer.sub.claim.name sub
sasl.oauthbearer.token.endpoint.url
security.protocol PLAINTEXT
security.providers
send.buffer.bytes 131072
session.timeout.ms 45000
share.acknowledgement.mode implicit
share.acquire.mode BATCH_OPTIMIZED
socket.connection.setup.timeout.max.ms 30000
socket.connection.setup.timeout.ms 10000
ssl.cipher.suites
ssl.enabled.protocols TLSv1.2,TLSv1.3
ssl.endpoint.identification.algorithm https
ssl.engine.factory.class
ssl.key.password
ssl.keymanager.algorithm SunX509
ssl.keystore.certificate.chain
ssl.keystore.key
ssl.keystore.location
ssl.keystore.password
ssl.keystore.type JKS
ssl.protocol TLSv1.3
ssl.provider
ssl.secure.random.implementation
ssl.trustmanager.algorithm PKIX
ssl.truststore.certificates
ssl.truststore.location
ssl.truststore.password
ssl.truststore.type JKS
transaction.timeout.ms 60000
transaction.two.phase.commit.enable false
transactional.id
value.deserializer
value.serializer
"""
"""One setting per line, with its default, or several defaults if Java's clients differ."""


def _load() -> Mapping[str, frozenset[str]]:
    lines = (line.partition(" ") for line in _TABLE.splitlines())
    return {name: frozenset(defaults.split(" | ")) for name, _, defaults in lines}


JAVA_SETTINGS = _load()
"""The defaults of each setting in Java's clients, by its name. A setting with such a value needs no warning, because it
changes nothing."""

__all__ = ["JAVA_SETTINGS"]
