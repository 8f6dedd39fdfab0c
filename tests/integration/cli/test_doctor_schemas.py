"""``oncelog doctor --schema-registry``: a registry that does not answer, and ids that it does not know."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import oncelog
from oncelog.broker.server.listener_settings import Address
from oncelog.schema_registry.serving import RegistryThread
from oncelog.schema_registry.settings import RegistrySettings
from oncelog.schemas import AvroSerializer, SchemaRegistry
from tests.conftest import RunningBroker
from tests.integration.cli.conftest import run
from tests.integration.cli.test_doctor import doctor


@pytest.fixture
def url(broker: RunningBroker, unique_name: str) -> Iterator[str]:
    settings = RegistrySettings({"bootstrap.servers": broker.bootstrap_servers}, topic=f"_schemas-{unique_name}")
    registry = RegistryThread(settings, Address("127.0.0.1", 0)).start()
    yield registry.url
    registry.stop()


def test_doctor_reports_a_registry_that_does_not_answer() -> None:
    ended = run("doctor", "--schema-registry", "http://127.0.0.1:1", "--json")
    assert ended.code == 1
    (found,) = doctor("--schema-registry", "http://127.0.0.1:1")["schema registry"]
    assert found["status"] == "bad"
    assert "the schema registry http://127.0.0.1:1 cannot be reached" in found["found"]


@pytest.mark.parametrize("broker", ["oncelog", pytest.param("kafka", marks=pytest.mark.kafka)], indirect=True)
def test_doctor_reports_schema_ids_that_the_registry_does_not_know(
    broker: RunningBroker, unique_name: str, url: str
) -> None:
    with SchemaRegistry(url) as registry:
        known = AvroSerializer(registry, '"string"', topic=unique_name)("x") or b""
    asked = ("--bootstrap-server", broker.bootstrap_servers, "--schema-registry", url)
    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
        producer.send_and_wait(unique_name, known)
        producer.send_and_wait(unique_name, b"no schema")
        assert [one["status"] for one in doctor(*asked)["schema registry"]] == ["ok"]
        foreign = [b"\0\0\0\x03" + bytes([number]) + known[5:] for number in range(7)]
        for value in foreign:
            producer.send_and_wait(unique_name, value)
        producer.send_and_wait(f"{unique_name}-other", foreign[0])  # no subject: these bytes may be anything
    reached, unknown = doctor(*asked)["schema registry"]
    assert reached["found"] == f"{url}, 1 subject"
    assert unknown["status"] == "bad"
    assert unknown["found"].startswith(
        f"topic {unique_name} has records with schema ids that the registry does not know: 768, 769, 770, 771, 772 "
        "and 2 more, as in "
    )
