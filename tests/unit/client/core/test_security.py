"""Settings of TLS and SASL: Java's way of writing them, and contradictory ones."""

from __future__ import annotations

import pytest

from oncelog.client.core.config import ClientConfig, ConsumerConfig
from oncelog.client.core.security import parse_jaas
from oncelog.errors import ConfigError

SASL = {"security.protocol": "SASL_SSL"}
PEM = "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----"


def test_a_jaas_configuration_is_read_as_by_java() -> None:
    text = 'a.b.ScramLoginModule required username="u\\"1" password=\'p;w = 2\' other=plain;'
    assert parse_jaas(text).options == {"username": 'u"1', "password": "p;w = 2", "other": "plain"}
    config = ClientConfig.from_properties(SASL | {"sasl.jaas.config": text})
    assert config.credentials() == ('u"1', "p;w = 2")


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        (SASL, r"needs sasl\.username and sasl\.password"),
        (SASL | {"sasl.jaas.config": "nonsense"}, r"sasl\.jaas\.config: it takes MODULE required"),
        (SASL | {"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"}, "names Kerberos"),
        (SASL | {"sasl.mechanism": "GSSAPI"}, "GSSAPI.*AWS_MSK_IAM"),
        (SASL | {"sasl.mechanism": "OAUTHBEARER"}, "needs a token"),
        (
            SASL | {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "ftp://x"},
            "a URL with http, https or file",
        ),
        (
            SASL | {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://x"},
            "needs a client id and its secret",
        ),
        (
            SASL
            | {
                "sasl.username": "u",
                "sasl.password": "p",
                "sasl.login.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
            },
            r"contradicts sasl\.mechanism=PLAIN: it belongs to AWS_MSK_IAM",
        ),
        ({"ssl.truststore.certificates": PEM}, "is JKS, but the certificates in the settings are PEM"),
        ({"ssl.keystore.key": PEM, "ssl.keystore.type": "PEM"}, "need each other"),
        ({"ssl.cafile": "a", "ssl.truststore.location": "b"}, "Give one of"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(properties: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ClientConfig.from_properties(properties)


def test_setting_values_that_java_reads_in_any_case_are_read_in_any_case() -> None:
    """Apache Kafka 4.4 takes these, and refuses ``compression.type=LZ4`` and ``isolation.level=READ_COMMITTED``."""
    config = ConsumerConfig.from_properties(
        {
            "bootstrap.servers": "h:1",
            "security.protocol": "sasl_ssl",
            "sasl.username": "u",
            "sasl.password": "p",
            "ssl.truststore.type": "jks",
            "ssl.endpoint.identification.algorithm": "HTTPS",
            "group.protocol": "Consumer",
        }
    )
    assert (config.security_protocol, config.ssl_truststore_type, config.group_protocol) == (
        "SASL_SSL",
        "JKS",
        "consumer",
    )
    assert config.checks_hostname
    with pytest.raises(ConfigError, match=r"String must be one of \(case insensitive\): PLAINTEXT"):
        ClientConfig.from_properties({"bootstrap.servers": "h:1", "security.protocol": "tls"})
    with pytest.raises(ConfigError, match="READ_COMMITTED"):
        ConsumerConfig.from_properties({"bootstrap.servers": "h:1", "isolation.level": "READ_COMMITTED"})


def test_the_refusal_of_a_setting_never_contains_a_password() -> None:
    with pytest.raises(ConfigError) as refused:
        ClientConfig.from_properties(SASL | {"sasl.jaas.config": 'Module password="hunter2"'})
    assert "hunter2" not in str(refused.value)
