"""What needs an optional package says in one sentence which one to install; an ImportError would name a module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TRIED = """
import sys
for name in {packages!r}:
    sys.modules[name] = None
import oncelog
try:
    {statement}
except oncelog.errors.ConfigError as error:
    sys.stdout.write(str(error))
"""
KEYSTORES = "which needs a package: pip install 'oncelog[keystores]', or convert it to PEM and set the type to PEM"
TLS = """
    from oncelog.client.aio.connection.tls import ssl_context
    from oncelog.client.core.security import SecurityConfig
    ssl_context(SecurityConfig(security_protocol="SSL", ssl_{store}_location={path!r}, ssl_{store}_type="{kind}"))"""
ARROW = """
    with oncelog.Broker() as broker, oncelog.{client} as client:
        client.{call}"""
PRODUCER, CONSUMER = (
    f"{name}({topic}bootstrap_servers=broker.bootstrap_servers)"
    for name, topic in (("Producer", ""), ("Consumer", '"t", '))
)


def said_without(packages: list[str], statement: str) -> str:
    """What the ConfigError says that ``statement`` raises where ``packages`` are not installed."""
    program = TRIED.format(packages=packages, statement=statement)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", ["session", "lag", "reporting", "session_metrics"])
def test_imports_of_spark_users_name_the_missing_extra(module: str) -> None:
    printed = said_without(["pyspark"], f"import oncelog.spark.{module}")
    assert printed == "PySpark is not installed here: pip install 'oncelog[spark]'"


@pytest.mark.parametrize(("kind", "package"), [("PKCS12", "cryptography"), ("JKS", "jks")])
@pytest.mark.parametrize("store", ["truststore", "keystore"])
def test_javas_key_stores_name_the_missing_extra(store: str, kind: str, package: str, tmp_path: Path) -> None:
    path = tmp_path / "store"
    path.write_bytes(b"\xfe\xed\xfe\xed")
    printed = said_without([package], TLS.format(store=store, kind=kind, path=str(path)))
    assert printed == f"ssl.{store}.location={path} is {kind}, {KEYSTORES}"


@pytest.mark.parametrize(
    ("client", "call"), [(PRODUCER, 'send_arrow("t", None)'), (CONSUMER, "getmany_arrow(timeout_ms=0)")]
)
@pytest.mark.parametrize("package", ["pyarrow", "numpy"])
def test_arrow_tables_name_their_missing_packages(client: str, call: str, package: str) -> None:
    printed = said_without([package], ARROW.format(client=client, call=call))
    assert printed == "Arrow tables need pyarrow and numpy: pip install pyarrow numpy"
