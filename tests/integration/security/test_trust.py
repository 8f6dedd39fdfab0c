"""Which certificates of a broker the client takes: those that Java's clients take, in every version of Python."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.client import blocking
from oncelog.client.core.config import AdminConfig
from oncelog.errors import KafkaError
from tests.integration.security.certificates import Authority, Identity


@pytest.fixture(autouse=True)
def as_strict_as_python_3_13(monkeypatch: pytest.MonkeyPatch) -> None:
    make = ssl.create_default_context

    def strict(*arguments: Any, **named: Any) -> ssl.SSLContext:
        context = make(*arguments, **named)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)


def topics(tmp_path: Path, identity: Identity, trusted: Path) -> list[str]:
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": identity.store,
    }
    with oncelog.Broker(tmp_path / "data", settings=settings) as broker:
        properties = {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trusted),
            "request.timeout.ms": "2000",
            "default.api.timeout.ms": "3000",
        }
        with blocking.Admin(config=AdminConfig.from_properties(properties)) as admin:
            return list(admin.list_topics())


def test_a_certificate_without_key_identifiers_is_accepted(tmp_path: Path) -> None:
    """Python 3.13 refuses them unless it is told otherwise, and the authorities of many clusters issue no others."""
    authority = Authority(tmp_path, bare=True)
    assert topics(tmp_path, authority.issue("broker"), authority.certificate) == []


def test_an_intermediate_authority_can_be_trusted(tmp_path: Path) -> None:
    between = tmp_path / "between"
    between.mkdir()
    authority = Authority(between, "between", parent=Authority(tmp_path))
    assert topics(tmp_path, authority.issue("broker"), authority.certificate) == []


def test_a_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(KafkaError, match="certificate"):
        topics(tmp_path, Authority(tmp_path).issue("broker"), Authority(other, "other").certificate)
