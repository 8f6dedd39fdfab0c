"""``--schema-registry-config``: commands ask a registry of ours with TLS, a client's certificate, a user."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import oncelog
from oncelog.broker.server.listener_settings import Address
from oncelog.cli.shared.registry_option import RegistryAccess, registry, registry_option
from oncelog.schema_registry import serving
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import Login, RegistrySettings
from oncelog.schemas import Schema, SchemaRegistry
from oncelog.schemas.schema_errors import SchemaRegistryError
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import call
from tests.integration.schema_registry.test_console_decoding import text_of
from tests.integration.security.certificates import Authority, Identity
from tests.support.running_console import RunningConsole

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required user_alice='alice-secret';"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def client(authority: Authority) -> Identity:
    """The certificate that a client shows."""
    return authority.issue("client", "CN=alice")


@pytest.fixture
def mutual(broker: RunningBroker, topic: str, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A registry that asks for a certificate, which ours does not by itself."""
    own = authority.issue("registry")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    context.load_verify_locations(authority.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    monkeypatch.setattr(serving, "_tls", lambda settings: context)
    settings = RegistrySettings(
        {"bootstrap.servers": broker.bootstrap_servers},
        topic=topic,
        certificate=str(own.certificate),
        key=str(own.key),
    )
    running = RegistryThread(settings, Address("127.0.0.1", 0)).start()
    yield running.url
    running.stop()


def properties(folder: Path, **lines: object) -> Path:
    """A file with these properties, with ``_`` for ``.``."""
    file = folder / "registry.properties"
    file.write_text("".join(f"{name.replace('_', '.')}={value}\n" for name, value in lines.items()))
    return file


def test_a_registry_that_requires_client_certificates_answers_only_clients_that_have_one(
    mutual: str, authority: Authority, client: Identity
) -> None:
    trusted = str(authority.certificate)
    with SchemaRegistry(mutual, ca_file=trusted, certificate=str(client.certificate), key=str(client.key)) as asked:
        assert asked.register("x", Schema('"string"')) == 1
    with SchemaRegistry(mutual, ca_file=trusted, certificate=str(client.store)) as asked:
        assert asked.subjects() == ["x"], "certificate and key may be in one file"
    for ca_file in (trusted, None):
        with (
            SchemaRegistry(mutual, ca_file=ca_file, retries=0) as asked,
            pytest.raises(SchemaRegistryError, match="cannot be reached"),
        ):
            asked.subjects()


def test_commands_and_console_send_their_client_certificate(
    mutual: str, broker: RunningBroker, authority: Authority, client: Identity, topic: str, tmp_path: Path
) -> None:
    file = properties(
        tmp_path,
        schema_registry_url=mutual,
        ssl_ca_location=authority.certificate,
        ssl_certificate_location=client.certificate,
        ssl_key_location=client.key,
    )
    how = ("--schema-registry-config", file)
    there = ("--bootstrap-server", broker.bootstrap_servers)
    schema = tmp_path / "number.avsc"
    schema.write_text('"long"')
    name = f"numbers{topic}"
    call("topics", "create", name, *there).done()
    call("produce", "-t", name, "--value-schema", schema, *how, *there, stdin="7\n").done()
    assert call("consume", "-t", name, "--from-beginning", "-e", *how, *there).done().out == "7\n"
    assert call("schemas", "list", "--json", *how).done().json == [{"subject": f"{name}-value", "versions": [1]}]
    export = tmp_path / "numbers.csv"
    call("export", name, "--to", export, *how, *there).done()
    assert ",7," in export.read_text()
    found = call("doctor", "--json", "--listen", "127.0.0.1:0", *how).json
    assert [one["status"] for one in found if one["check"] == "schema registry"] == ["ok"]
    access = {
        "url": mutual,
        "ca_file": str(authority.certificate),
        "certificate": str(client.certificate),
        "key": str(client.key),
    }
    with RunningConsole({"bootstrap.servers": broker.bootstrap_servers}, schema_registry=access) as console:
        assert f"Subject {name}-value" in text_of(console, "/schemas")


def test_basic_auth_and_the_registrys_certificate_are_used(authority: Authority, tmp_path: Path) -> None:
    own = authority.issue("registry")
    settings = {
        "listeners": "OPEN://127.0.0.1:0,ASKING://127.0.0.1:0",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,ASKING:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.asking.plain.sasl.jaas.config": PLAIN,
    }
    with oncelog.Broker(settings=settings) as broker, ExitStack() as running:
        asking = {"bootstrap.servers": str(broker.addresses["ASKING"]), "sasl.mechanism": "PLAIN"}
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.username": "alice", "sasl.password": "alice-secret"}
        registry = RegistryThread(
            RegistrySettings(
                {**asking, **login}, login=Login.KAFKA, certificate=str(own.certificate), key=str(own.key)
            ),
            Address("127.0.0.1", 0),
        ).start()
        running.callback(registry.stop)
        trusted = {"url": registry.url, "ssl_ca_location": authority.certificate}
        right = properties(tmp_path, **trusted, basic_auth_user_info="alice:alice-secret")
        assert call("schemas", "list", "--json", "--schema-registry-config", right).done().json == []
        wrong = properties(tmp_path, **trusted, basic_auth_user_info="alice:wrong")
        assert "asks for a login" in call("schemas", "list", "--schema-registry-config", wrong).sentence()


@click.command()
@registry_option
def asking(schema_registry: RegistryAccess) -> None:
    """Prints how the registry is asked."""
    with registry(schema_registry):
        click.echo(json.dumps(sorted(schema_registry.items())))


@pytest.fixture
def access() -> Callable[..., list[tuple[str, str]]]:
    def access(*words: str, env: str | None = None) -> list[tuple[str, str]]:
        done = CliRunner().invoke(asking, words, env={"ONCELOG_SCHEMA_REGISTRY": env}, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return [(name, value) for name, value in json.loads(done.output)]

    return access


def test_an_option_overrides_the_file_and_the_file_overrides_the_environment(
    access: Callable[..., list[tuple[str, str]]], tmp_path: Path
) -> None:
    file = str(
        properties(tmp_path, url="http://file:1", bearer_auth_token="t", bearer_auth_credentials_source="STATIC_TOKEN")
    )
    assert access(env="http://env:1") == [("url", "http://env:1")]
    token = ("token", "t")
    assert access("--schema-registry-config", file, env="http://env:1") == [token, ("url", "http://file:1")]
    both = access("--schema-registry-config", file, "--schema-registry", "http://option:1", env="http://env:1")
    assert both == [token, ("url", "http://option:1")]
    without = str(properties(tmp_path, bearer_auth_token="t"))
    assert access("--schema-registry-config", without, env="http://env:1") == [token, ("url", "http://env:1")]


@pytest.mark.parametrize(
    ("lines", "printed"),
    [
        ({"ssl_ca_locatoin": "x"}, "unknown property 'ssl.ca.locatoin'.*did you mean ssl.ca.location?"),
        ({"ssl_ca_location": "/nowhere.pem"}, "TLS for the schema registry cannot be set up with /nowhere.pem"),
        ({"ssl_key_location": "x"}, "needs its certificate"),
        ({"basic_auth_user_info": "alice"}, "basic.auth.user.info takes USER:PASSWORD"),
        ({"basic_auth_user_info": "a:b", "bearer_auth_token": "t"}, "or a token, not both"),
        (
            {"basic_auth_credentials_source": "SASL_INHERIT"},
            "takes USER_INFO with basic.auth.user.info or URL with url",
        ),
        ({"bearer_auth_credentials_source": "STATIC_TOKEN"}, "takes STATIC_TOKEN with bearer.auth.token"),
        ({"url": ""}, "add url=https://HOST:PORT"),
    ],
)
def test_forbidden_settings_in_a_file_are_refused(
    lines: dict[str, str], printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONCELOG_SCHEMA_REGISTRY", raising=False)
    file = properties(tmp_path, **{"url": "https://127.0.0.1:9", **lines})
    refused = call("schemas", "list", "--schema-registry-config", file)
    assert refused.code == 1
    assert re.search(printed, refused.err), refused.err
