"""Names of Kafka's client properties that ``kafka.*`` options may hold.

Source: ``ConsumerConfig``, ``ProducerConfig``, ``SslConfigs`` and ``SaslConfigs`` of Apache Kafka 4.3. A name that is
listed here and that the client does not act on is accepted, as the Java client accepts it: it tunes that client.
"""

from __future__ import annotations

from oncelog.client.core.config import ClientConfig, known_properties

_CONNECTION = """
bootstrap.servers client.dns.lookup client.id client.rack connections.max.idle.ms default.api.timeout.ms
enable.metrics.push metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms receive.buffer.bytes
reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retry.backoff.max.ms retry.backoff.ms
security.protocol security.providers send.buffer.bytes
socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class
ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location
ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location ssl.truststore.password
ssl.truststore.type
sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
sasl.login.callback.handler.class sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms
sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism
sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.url
sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
"""

_OWN = " ".join(known_properties(ClientConfig))
"""Names of our client that Java's does not have, such as ``ssl.cafile``."""

CONSUMER_PROPERTIES = frozenset(
    f"""{_CONNECTION} {_OWN}
    allow.auto.create.topics check.crcs exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes
    group.id group.instance.id heartbeat.interval.ms isolation.level max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records partition.assignment.strategy session.timeout.ms
    """.split()
)

PRODUCER_PROPERTIES = frozenset(
    f"""{_CONNECTION} {_OWN}
    acks batch.size buffer.memory compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level delivery.timeout.ms enable.idempotence linger.ms max.block.ms
    max.in.flight.requests.per.connection max.request.size metadata.max.idle.ms retries transaction.timeout.ms
    """.split()
)

_COLUMNS = "keys and values are binary columns; cast them in Spark"

REFUSED_CONSUMER_PROPERTIES = {
    "auto.offset.reset": "use the option startingOffsets",
    "enable.auto.commit": "offsets live in Spark's checkpoint; commitOffsetsToGroup copies them to a group",
    "auto.commit.interval.ms": "offsets live in Spark's checkpoint; commitOffsetsToGroup copies them to a group",
    "key.deserializer": _COLUMNS,
    "value.deserializer": _COLUMNS,
    "interceptor.classes": "an interceptor could drop or change records",
}

REFUSED_PRODUCER_PROPERTIES = {
    "transactional.id": "each query has its own; choose how it begins with the option transactionalIdPrefix",
    "transaction.two.phase.commit.enable": "the marker commits with the data instead",
    "key.serializer": _COLUMNS,
    "value.serializer": _COLUMNS,
    "interceptor.classes": "an interceptor could drop or change records",
    "partitioner.class": "use the column partition, or a key",
}
