"""Settings of TLS and SASL, under Kafka's property names and with the values that Java's clients accept.

Called by :mod:`oncelog.client.core.config`, whose settings build on these. Pure: files and servers that settings name
are read by :mod:`oncelog.client.aio.connection.tls` and :mod:`oncelog.client.aio.connection.tokens`. Sources:
``SslConfigs``, ``SaslConfigs``, KIP-651 (PEM in settings), KIP-255 and KIP-768 (OAUTHBEARER), KIP-1139 (its client
credentials).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from oncelog.errors import ConfigError
from oncelog.settings.fields import Settings, setting
from oncelog.settings.kafka_properties import MAX_INT, MAX_LONG

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM")
TOKEN_MECHANISMS = ("OAUTHBEARER", "AWS_MSK_IAM")
STORE_TYPES = ("JKS", "PKCS12", "PEM")
TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")

CALLBACK_HANDLERS = {
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler": "OAUTHBEARER",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler": "OAUTHBEARER",
    "software.amazon.msk.auth.iam.IAMClientCallbackHandler": "AWS_MSK_IAM",
}
"""Java's callback handlers that may be configured, because this client has their behaviour built in, and the mechanism
of each."""

_JAAS_OPTION = re.compile(r"""(\S+?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")


class Jaas(NamedTuple):
    """A parsed ``sasl.jaas.config``: the login module's class and its options."""

    module: str
    options: Mapping[str, str]


def parse_jaas(text: str) -> Jaas:
    """Parse ``MODULE required NAME="VALUE" ...;``; raises ConfigError for anything else. Never repeats a password."""
    words = text.strip().rstrip(";").split(None, 2)
    if len(words) < 2 or words[1].lower() not in ("required", "requisite", "sufficient", "optional"):
        raise ConfigError(
            'Invalid value for configuration sasl.jaas.config: it takes MODULE required NAME="VALUE" ...;'
        )
    options: dict[str, str] = {}
    for match in _JAAS_OPTION.finditer(words[2] if len(words) > 2 else ""):
        quoted = next((group for group in match.groups()[1:3] if group is not None), None)
        options[match.group(1)] = match.group(4) if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return Jaas(words[0], options)


class SecurityConfig(Settings):
    """The settings with which a client connects to brokers and authenticates."""

    security_protocol: str = setting(
        "security.protocol",
        "PLAINTEXT",
        "Protocol to communicate with brokers.",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        any_case=True,
    )
    ssl_cafile: str | None = setting("ssl.cafile", None, "PEM file of the certificate authorities to trust.")
    ssl_certfile: str | None = setting("ssl.certfile", None, "PEM file of the client's certificate.")
    ssl_keyfile: str | None = setting("ssl.keyfile", None, "PEM file of the client's key.")
    ssl_check_hostname: bool = setting("ssl.check.hostname", True, "Check that the certificate names the host.")
    ssl_endpoint_identification_algorithm: str = setting(
        "ssl.endpoint.identification.algorithm",
        "https",
        "Empty does not check that the certificate names the host.",
        choices=("https", ""),
        any_case=True,
    )
    ssl_enabled_protocols: tuple[str, ...] = setting(
        "ssl.enabled.protocols", list(TLS_VERSIONS), "Versions of TLS to offer.", choices=TLS_VERSIONS
    )
    ssl_truststore_type: str = setting(
        "ssl.truststore.type", "JKS", "Format of ssl.truststore.location.", choices=STORE_TYPES, any_case=True
    )
    ssl_truststore_location: str | None = setting("ssl.truststore.location", None, "File of the certificates to trust.")
    ssl_truststore_password: str | None = setting("ssl.truststore.password", None, "Its password.")
    ssl_truststore_certificates: str | None = setting(
        "ssl.truststore.certificates", None, "The certificates to trust themselves, in PEM, instead of a file."
    )
    ssl_keystore_type: str = setting(
        "ssl.keystore.type", "JKS", "Format of ssl.keystore.location.", choices=STORE_TYPES, any_case=True
    )
    ssl_keystore_location: str | None = setting(
        "ssl.keystore.location", None, "File of the client's key and certificates."
    )
    ssl_keystore_password: str | None = setting("ssl.keystore.password", None, "Its password.")
    ssl_keystore_key: str | None = setting("ssl.keystore.key", None, "The client's key itself, in PEM (PKCS #8).")
    ssl_keystore_certificate_chain: str | None = setting(
        "ssl.keystore.certificate.chain", None, "The client's certificates themselves, in PEM."
    )
    ssl_key_password: str | None = setting("ssl.key.password", None, "Password of the client's key.")
    sasl_mechanism: str = setting("sasl.mechanism", "PLAIN", "SASL mechanism.", choices=SASL_MECHANISMS)
    sasl_plain_username: str | None = setting("sasl.username", None, "User for SASL.")
    sasl_plain_password: str | None = setting("sasl.password", None, "Password for SASL.")
    sasl_jaas_config: str | None = setting(
        "sasl.jaas.config", None, "User and password, or client id and secret, as Java writes them."
    )
    sasl_login_callback_handler_class: str = setting(
        "sasl.login.callback.handler.class",
        "",
        "Accepted if it names what sasl.mechanism implies anyway.",
        choices=("", *CALLBACK_HANDLERS),
    )
    sasl_client_callback_handler_class: str = setting(
        "sasl.client.callback.handler.class",
        "",
        "Accepted if it names what sasl.mechanism implies anyway.",
        choices=("", *CALLBACK_HANDLERS),
    )
    sasl_oauthbearer_token_endpoint_url: str | None = setting(
        "sasl.oauthbearer.token.endpoint.url",
        None,
        "URL of the endpoint that issues tokens (http, https), or of a file with a token (file).",
    )
    sasl_oauthbearer_client_id: str | None = setting(
        "sasl.oauthbearer.client.credentials.client.id", None, "Client id for the token endpoint."
    )
    sasl_oauthbearer_client_secret: str | None = setting(
        "sasl.oauthbearer.client.credentials.client.secret", None, "Its secret."
    )
    sasl_oauthbearer_scope: str | None = setting("sasl.oauthbearer.scope", None, "Scope of the requested token.")
    sasl_oauthbearer_header_urlencode: bool = setting(
        "sasl.oauthbearer.header.urlencode", False, "Encode client id and secret as URLs are (RFC 6749)."
    )
    sasl_oauthbearer_token_provider: str | None = setting(
        "sasl.oauthbearer.token.provider",
        None,
        "MODULE:NAME of a Python callable without arguments that returns a token; not one of Kafka's settings.",
    )
    sasl_aws_region: str | None = setting(
        "sasl.aws.region", None, "Region of AWS_MSK_IAM, if the broker's name does not contain it."
    )
    sasl_login_connect_timeout_ms: int = setting(
        "sasl.login.connect.timeout.ms", 10_000, "Time to connect to the token endpoint.", low=1, high=MAX_INT
    )
    sasl_login_read_timeout_ms: int = setting(
        "sasl.login.read.timeout.ms", 10_000, "Time for an answer of the token endpoint.", low=1, high=MAX_INT
    )
    sasl_login_retry_backoff_ms: int = setting(
        "sasl.login.retry.backoff.ms",
        100,
        "Wait before a request to the token endpoint is retried.",
        low=0,
        high=MAX_LONG,
    )
    sasl_login_retry_backoff_max_ms: int = setting(
        "sasl.login.retry.backoff.max.ms",
        10_000,
        "How long requests to the token endpoint are retried.",
        low=0,
        high=MAX_LONG,
    )
    sasl_login_refresh_window_factor: float = setting(
        "sasl.login.refresh.window.factor",
        0.8,
        "Fraction of a token's lifetime after which it is replaced.",
        low=0.5,
        high=1.0,
    )

    @property
    def checks_hostname(self) -> bool:
        return self.ssl_check_hostname and self.ssl_endpoint_identification_algorithm == "https"

    def check_security(self, has_provider: bool) -> None:
        """Check the settings of TLS and SASL.

        :raises ConfigError: settings contradict each other or are incomplete.
        """
        self._check_stores()
        for name in ("login", "client"):
            handler = getattr(self, f"sasl_{name}_callback_handler_class")
            if handler and CALLBACK_HANDLERS[handler] != self.sasl_mechanism:
                raise ConfigError(
                    f"sasl.{name}.callback.handler.class={handler} contradicts sasl.mechanism={self.sasl_mechanism}: "
                    f"it belongs to {CALLBACK_HANDLERS[handler]}"
                )
        if not self.security_protocol.startswith("SASL"):
            return
        if self.sasl_mechanism == "AWS_MSK_IAM":
            return
        if self.sasl_mechanism == "OAUTHBEARER":
            self._check_oauth(has_provider)
        elif None in self.credentials():
            raise ConfigError(
                f"security.protocol={self.security_protocol} needs sasl.username and sasl.password to be set, "
                "or sasl.jaas.config with both"
            )

    def _check_oauth(self, has_provider: bool) -> None:
        url = self.sasl_oauthbearer_token_endpoint_url
        if self.sasl_oauthbearer_token_provider is not None:
            if not re.fullmatch(r"[\w.]+:[\w.]+", self.sasl_oauthbearer_token_provider):
                raise ConfigError(
                    f"Invalid value {self.sasl_oauthbearer_token_provider!r} for configuration "
                    "sasl.oauthbearer.token.provider: it takes MODULE:NAME of a Python callable"
                )
            return
        if has_provider:
            return
        if url is None:
            raise ConfigError(
                "sasl.mechanism=OAUTHBEARER needs a token: set sasl.oauthbearer.token.endpoint.url with client id and "
                "secret, sasl.oauthbearer.token.provider to MODULE:NAME, or give the client a sasl_oauth_token_provider"
            )
        if not re.match(r"(https?|file)://", url):
            raise ConfigError(
                f"Invalid value {url!r} for configuration sasl.oauthbearer.token.endpoint.url: "
                "it takes a URL with http, https or file"
            )
        if not url.startswith("file:") and None in self.client_credentials():
            raise ConfigError(
                "sasl.oauthbearer.token.endpoint.url needs a client id and its secret: set "
                "sasl.oauthbearer.client.credentials.client.id and sasl.oauthbearer.client.credentials.client.secret, "
                "or clientId and clientSecret in sasl.jaas.config"
            )

    def _check_stores(self) -> None:
        trust = self.ssl_truststore_location, self.ssl_truststore_certificates, self.ssl_cafile
        if sum(value is not None for value in trust) > 1:
            raise ConfigError(
                "Give one of ssl.truststore.location, ssl.truststore.certificates and ssl.cafile: each names the "
                "certificates to trust"
            )
        keys = self.ssl_keystore_location, self.ssl_keystore_key, self.ssl_certfile
        if sum(value is not None for value in keys) > 1:
            raise ConfigError(
                "Give one of ssl.keystore.location, ssl.keystore.key and ssl.certfile: each is the client's identity"
            )
        if (self.ssl_keystore_key is None) != (self.ssl_keystore_certificate_chain is None):
            raise ConfigError(
                "ssl.keystore.key and ssl.keystore.certificate.chain need each other: set both or neither"
            )
        inline = {
            "ssl.truststore": (self.ssl_truststore_certificates, self.ssl_truststore_type),
            "ssl.keystore": (self.ssl_keystore_key, self.ssl_keystore_type),
        }
        for store, (text, kind) in inline.items():
            if text is not None and kind != "PEM":
                raise ConfigError(
                    f"{store}.type is {kind}, but the certificates in the settings are PEM: set it to PEM"
                )
            if text is not None and "-----BEGIN " not in text:
                raise ConfigError(f"The text of {store} is not PEM, which begins with -----BEGIN")

    def jaas(self) -> Jaas | None:
        if self.sasl_jaas_config is None:
            return None
        found = parse_jaas(self.sasl_jaas_config)
        if found.module.endswith("Krb5LoginModule"):
            raise ConfigError("sasl.jaas.config names Kerberos, which is not supported: use SCRAM, OAUTHBEARER or TLS")
        if found.options.get("tokenauth", "false").lower() == "true":
            raise ConfigError("tokenauth in sasl.jaas.config is not supported: give a user's password")
        return found

    def credentials(self) -> tuple[str | None, str | None]:
        """User and password."""
        jaas = self.jaas()
        options = jaas.options if jaas is not None else {}
        return (
            self.sasl_plain_username if self.sasl_plain_username is not None else options.get("username"),
            self.sasl_plain_password if self.sasl_plain_password is not None else options.get("password"),
        )

    def client_credentials(self) -> tuple[str | None, str | None]:
        """The client id and secret for the token endpoint; each is None if it is not set."""
        jaas = self.jaas()
        options = jaas.options if jaas is not None else {}
        return (
            self.sasl_oauthbearer_client_id or options.get("clientId"),
            self.sasl_oauthbearer_client_secret or options.get("clientSecret"),
        )

    def token_scope(self) -> str | None:
        jaas = self.jaas()
        return self.sasl_oauthbearer_scope or (jaas.options.get("scope") if jaas is not None else None)

    def token_extensions(self) -> dict[str, str]:
        """SASL extensions (KIP-342): options ``extension_NAME`` of ``sasl.jaas.config``."""
        jaas = self.jaas()
        given = jaas.options if jaas is not None else {}
        mark = "extension_"
        return {name.removeprefix(mark): value for name, value in given.items() if name.startswith(mark)}
