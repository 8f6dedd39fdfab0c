"""Write ``docs/reference/security.md`` from the table of properties; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from oncelog.kafka_properties import KafkaProperty, UpdateMode, broker_properties
from tools.property_tables import allowed_values

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "security.md"

INTRODUCTION = """\
# Security properties

Made by `python -m tools.document_security` from the table of properties; do not edit.

Names, types, defaults and checks are those of Apache Kafka 4.3. `listener.name.NAME.X` is the property X for one
listener only and takes precedence over X. [Who may connect, and do what](../how-to/security.md) shows how to use them.
"""

SECTIONS: dict[str, dict[str, str]] = {
    "Listeners": {
        "listeners": "Where to listen: NAME://HOST:PORT, separated by commas.",
        "advertised.listeners": "The addresses that clients connect to, by listener.",
        "listener.security.protocol.map": "NAME:PROTOCOL of each listener.",
        "controller.listener.names": "Listeners that are ignored: there is no controller here.",
        "max.connections": "Maximum number of connections; also for one listener.",
        "max.connections.per.ip": "Maximum number of connections from one address.",
        "max.connections.per.ip.overrides": "The same for named addresses.",
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
"""Heading to properties with what they do."""
LIVE = (
    *("ssl.", "max.connection", "listeners", "listener.security.protocol.map"),
    *("sasl.enabled.mechanisms", "sasl.jaas.config"),
)
"""How the names begin of what counts for the next connection when it is changed."""
NOT_IN_THE_TABLE = {
    "super.users": "| `super.users` | string | empty | | at start |",
    "allow.everyone.if.no.acl.found": "| `allow.everyone.if.no.acl.found` | boolean | `false` | | at start |",
}
"""Those that belong to Apache Kafka's authorizer, not to its broker."""


def main() -> int:
    page = "\n".join(_page())
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text() == page:
            return 0
        sys.stderr.write(f"{PAGE} is out of date: run python -m tools.document_security\n")
        return 1
    PAGE.write_text(page)
    return 0


def _page() -> Iterator[str]:
    yield INTRODUCTION
    known = broker_properties()
    for heading, rows in SECTIONS.items():
        yield f"## {heading}\n"
        yield "| name | type | default | allowed | changes | what it does |"
        yield "|---|---|---|---|---|---|"
        for name, doc in rows.items():
            yield f"{NOT_IN_THE_TABLE.get(name) or _start(known[name])} {doc} |"
        yield ""


def _start(item: KafkaProperty) -> str:
    default = "" if item.default is None else f"`{item.default}`" if item.default else "empty"
    live = item.name.startswith(LIVE) and item.name != "ssl.principal.mapping.rules"
    changes = item.update.value if live and item.update is not UpdateMode.READ_ONLY else "at start"
    return f"| `{item.name}` | {item.kind.name.lower()} | {default} | {allowed_values(item.allowed)} | {changes} |"


if __name__ == "__main__":
    sys.exit(main())
