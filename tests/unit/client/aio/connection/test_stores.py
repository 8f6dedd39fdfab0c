"""Files of certificates whose type is not given: the message names the type that they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.client.aio.connection.tls import ssl_context
from oncelog.client.core.config import AdminConfig
from oncelog.errors import ConfigError


@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_a_pem_file_without_a_type_is_named_in_the_error(tmp_path: Path, store: str) -> None:
    """Kafka's default is JKS; files of other clients are PEM."""
    file = tmp_path / "ca.pem"
    file.write_text("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")
    properties = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SSL",
        f"ssl.{store}.location": str(file),
        f"ssl.{store}.password": "secret",
    }
    with pytest.raises(ConfigError, match=rf"{file} is PEM: set ssl\.{store}\.type to PEM"):
        ssl_context(AdminConfig.from_properties(properties))
