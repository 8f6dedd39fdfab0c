"""The REST API as Confluent's documentation has it: statuses, codes, content types and bodies."""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import Any
from uuid import UUID

import pytest

from oncelog.client.blocking import Admin
from tests.conftest import RunningBroker
from tests.integration.schema_registry.http_calls import CONTENT_TYPE, Answer, avro, call, register


def test_a_schema_is_registered_and_found_again(url: str) -> None:
    answer = register(url, "orders-value", avro("a"))
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
    guid = str(UUID(hashlib.md5(text.encode()).hexdigest()))
    registered = {"id": 1, "version": 1, "guid": guid}
    assert (answer.status, answer.body, answer.content_type) == (200, registered, CONTENT_TYPE)
    assert call(url, "GET", "/schemas/ids/1").body == {"guid": guid, "schema": text}
    for name in (guid, guid.upper(), guid.replace("-", "")):
        assert call(url, "GET", f"/schemas/guids/{name}").body == {"guid": guid, "schema": text}
        assert call(url, "GET", f"/schemas/guids/{name}/ids").body == [{"context": ".", "id": 1}]
    assert call(url, "GET", "/schemas/ids/1/schema").body == json.loads(text)
    assert call(url, "GET", "/schemas/ids/1/subjects").body == ["orders-value"]
    assert call(url, "GET", "/schemas/ids/1/versions").body == [{"subject": "orders-value", "version": 1}]
    version = {"subject": "orders-value", "version": 1, "id": 1, "guid": guid, "schema": text}
    for number in ("1", "latest", "-1"):
        assert call(url, "GET", f"/subjects/orders-value/versions/{number}").body == version
    assert call(url, "POST", "/subjects/orders-value", {"schema": avro("a")}).body == version
    assert call(url, "GET", "/subjects/orders-value/versions").body == [1]
    assert call(url, "GET", "/subjects").body == ["orders-value"]
    assert call(url, "GET", "/schemas").body == [version]
    assert call(url, "GET", "/").body == {}


def test_a_schema_has_one_id_in_whatever_form_it_is_written(url: str) -> None:
    assert register(url, "x", '{"type": "string"}').body["id"] == 1
    assert register(url, "x", '"string"').body["id"] == 1
    assert register(url, "another", ' "string" ').body["id"] == 1
    assert register(url, "x", '"int"').status == 409
    assert call(url, "GET", "/schemas/ids/1/subjects").body == ["x", "another"]
    assert call(url, "GET", "/subjects/x/versions").body == [1]


def test_a_subject_may_contain_any_character(url: str) -> None:
    for subject in ("a/b", "ä ö?#%", "..", "a+b"):
        assert register(url, subject, '"string"').body["id"] == 1
    assert call(url, "GET", "/subjects").body == ["..", "a+b", "a/b", "ä ö?#%"]
    assert call(url, "GET", "/subjects/a%2Fb/versions").body == [1]


def test_a_registry_reports_its_cluster_and_release(url: str, broker: RunningBroker) -> None:
    """Confluent's command line and Control Center ask so; their REST contract has exactly these members."""
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        cluster_id = admin.describe_cluster().cluster_id
    clusters = {"kafka-cluster": cluster_id, "schema-registry-cluster": "schema-registry"}
    assert call(url, "GET", "/v1/metadata/id").body == {"scope": {"path": [], "clusters": clusters}, "id": ""}
    version = call(url, "GET", "/v1/metadata/version")
    assert version.body == {"version": "8.0.0", "commitId": "oncelog"}
    assert call(url, "GET", "/v1/metadata/other").status == 404


NOT_THERE: list[tuple[str, str, Any, int, int]] = [
    ("GET", "/subjects/none/versions", None, 404, 40401),
    ("GET", "/subjects/none/versions/1", None, 404, 40401),
    ("GET", "/subjects/x/versions/7", None, 404, 40402),
    ("GET", "/subjects/x/versions/0", None, 422, 42202),
    ("GET", "/subjects/x/versions/a", None, 422, 42202),
    ("GET", "/subjects/x/versions/99999999999", None, 422, 42202),
    ("GET", "/schemas/ids/99", None, 404, 40403),
    ("GET", "/schemas/ids/99/schema", None, 404, 40403),
    ("GET", "/schemas/ids/99/subjects", None, 404, 40403),
    ("GET", "/schemas/ids/99/versions", None, 404, 40403),
    ("GET", "/schemas/ids/abc", None, 404, 404),
    ("GET", "/schemas/guids/00000000-0000-0000-0000-000000000000", None, 404, 40403),
    ("GET", "/schemas/guids/none", None, 404, 40403),
    ("GET", "/schemas/guids/none/ids", None, 404, 40403),
    ("GET", "/nothing", None, 404, 404),
    ("POST", "/subjects/none", {"schema": '"string"'}, 404, 40401),
    ("POST", "/subjects/x", {"schema": '"int"'}, 404, 40403),
    ("POST", "/subjects/x", {"schema": "{"}, 422, 42201),
    ("POST", "/subjects/x/versions", {"schema": "{"}, 422, 42201),
    ("POST", "/subjects/new/versions", {"schema": ""}, 422, 42201),
    ("POST", "/subjects/new/versions", {}, 422, 42201),
    ("POST", "/subjects/x/versions", {"schema": '"int"', "schemaType": "XML"}, 422, 42201),
    ("POST", "/subjects/x/versions", {"schema": '"int"'}, 409, 409),
    ("POST", "/subjects/x/versions", {"schema": '"string"', "id": 5}, 422, 42205),
    ("POST", "/subjects/x/versions", {"schema": '"string"', "ruleSet": {"domainRules": [{}]}}, 422, 42210),
    ("POST", "/subjects/:.ctx:x/versions", {"schema": '"string"'}, 422, 42208),
    ("POST", "/compatibility/subjects/x/versions/9", {"schema": '"string"'}, 404, 40402),
    ("POST", "/compatibility/subjects/x/versions/latest", {"schema": "{"}, 422, 42201),
    ("DELETE", "/subjects/none", None, 404, 40401),
    ("DELETE", "/subjects/x?permanent=true", None, 404, 40405),
    ("DELETE", "/subjects/x/versions/1?permanent=true", None, 404, 40407),
    ("DELETE", "/subjects/x/versions/9", None, 404, 40402),
    ("DELETE", "/subjects/gone", None, 404, 40404),
    ("DELETE", "/subjects/gone/versions/1", None, 404, 40406),
    ("GET", "/config/x", None, 404, 40408),
    ("GET", "/mode/x", None, 404, 40409),
    ("PUT", "/config", {"compatibility": "SOMETIMES"}, 422, 42203),
    ("PUT", "/config/x", {"alias": "y"}, 422, 42205),
    ("PUT", "/mode", {"mode": "SOMETIMES"}, 422, 42204),
    ("PUT", "/mode/x", {"mode": "IMPORT"}, 422, 42205),
    ("DELETE", "/config/x", None, 404, 40401),
    ("DELETE", "/mode/x", None, 404, 40401),
]


def test_refusals_have_confluents_codes(url: str) -> None:
    register(url, "x", '"string"')
    register(url, "gone", '"string"')
    assert call(url, "DELETE", "/subjects/gone").body == [1]
    for method, path, body, status, code in NOT_THERE:
        answer = call(url, method, path, body)
        assert (answer.status, answer.code, answer.content_type) == (status, code, CONTENT_TYPE), (method, path, answer)


def test_an_incompatible_schema_is_refused_with_the_version_and_the_reason(url: str) -> None:
    register(url, "x", avro("a"))
    answer = register(url, "x", avro("a", "b"))
    assert answer.status == answer.code == 409
    assert answer.body["message"].startswith(
        'Schema being registered is incompatible with an earlier schema for subject "x", details: '
    )
    for part in ("READER_FIELD_MISSING_DEFAULT_VALUE", "{oldSchemaVersion: 1}", "{compatibility: 'BACKWARD'}"):
        assert part in answer.body["message"]


def checked(url: str, schema: str, version: str = "", *, verbose: bool = False) -> Answer:
    path = f"/compatibility/subjects/x/versions{'/' * bool(version)}{version}?verbose={str(verbose).lower()}"
    return call(url, "POST", path, {"schema": schema})


def test_compatibility_is_checked_without_registering(url: str) -> None:
    assert checked(url, avro("a"), "latest").body == {"is_compatible": True}
    register(url, "x", avro("a"))
    assert checked(url, avro("a", "b=1"), "latest").body == {"is_compatible": True}
    assert checked(url, avro("a", "b"), "latest").body == {"is_compatible": False}
    assert checked(url, avro("a", "b")).body == {"is_compatible": False}
    reported = checked(url, avro("a", "b"), "1", verbose=True).body
    assert reported["is_compatible"] is False
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in reported["messages"][0]
    assert checked(url, avro("a"), "1", verbose=True).body == {"is_compatible": True, "messages": []}
    wrong = checked(url, "{", "1", verbose=True).body
    assert wrong["is_compatible"] is False
    assert wrong["messages"][0].startswith("Invalid schema")
    assert call(url, "GET", "/subjects/x/versions").body == [1]


def test_compatibility_levels_hold_for_a_subject_or_globally(url: str) -> None:
    assert call(url, "GET", "/config").body == {"compatibilityLevel": "BACKWARD"}
    assert call(url, "PUT", "/config/x", {"compatibility": "none"}).body == {"compatibility": "none"}
    assert call(url, "GET", "/config/x").body == {"compatibilityLevel": "NONE"}
    register(url, "x", '"string"')
    assert register(url, "x", '"int"').status == 200
    assert call(url, "PUT", "/config", {"compatibility": "FULL"}).status == 200
    assert call(url, "GET", "/config/y?defaultToGlobal=true").body == {"compatibilityLevel": "FULL"}
    assert call(url, "DELETE", "/config/x").body == {"compatibilityLevel": "NONE"}
    assert call(url, "GET", "/config/x").code == 40408
    assert register(url, "x", '"boolean"').status == 409
    assert call(url, "DELETE", "/config").body == {"compatibilityLevel": "FULL"}
    assert call(url, "GET", "/config").body == {"compatibilityLevel": "BACKWARD"}


def test_the_first_deletion_of_a_schema_is_soft(url: str) -> None:
    for fields in (("a",), ("a", "b=1"), ("a", "b=1", "c=1")):
        register(url, "x", avro(*fields))
    assert call(url, "DELETE", "/subjects/x/versions/2").body == 2
    assert call(url, "GET", "/subjects/x/versions").body == [1, 3]
    assert call(url, "GET", "/subjects/x/versions?deleted=true").body == [1, 2, 3]
    assert call(url, "GET", "/subjects/x/versions?deletedOnly=true").body == [2]
    assert call(url, "GET", "/subjects/x/versions/2").code == 40402
    assert call(url, "GET", "/subjects/x/versions/2?deleted=true").body["id"] == 2
    assert call(url, "GET", "/schemas/ids/2").status == 200, "data with its id may still be there"
    assert call(url, "POST", "/subjects/x", {"schema": avro("a", "b=1")}).code == 40403
    assert call(url, "POST", "/subjects/x?deleted=true", {"schema": avro("a", "b=1")}).body["version"] == 2
    assert call(url, "DELETE", "/subjects/x/versions/2?permanent=true").body == 2
    assert call(url, "GET", "/schemas/ids/2").code == 40403
    assert call(url, "DELETE", "/subjects/x").body == [1, 3]
    assert call(url, "GET", "/subjects").body == []
    assert call(url, "GET", "/subjects?deleted=true").body == ["x"]
    assert call(url, "GET", "/subjects?deletedOnly=true").body == ["x"]
    assert call(url, "DELETE", "/subjects/x?permanent=true").body == [1, 3]
    assert call(url, "GET", "/subjects?deleted=true").body == []
    assert register(url, "x", avro("z")).body["id"] == 4, "ids are not used again"


def test_a_deleted_schema_is_registered_again_with_its_id_and_a_new_version(url: str) -> None:
    register(url, "x", '"string"')
    call(url, "DELETE", "/subjects/x")
    assert register(url, "x", '"string"').body["id"] == 1
    assert call(url, "GET", "/subjects/x/versions?deleted=true").body == [2]


def test_modes_are_set_and_respected(url: str) -> None:
    assert call(url, "GET", "/mode").body == {"mode": "READWRITE"}
    register(url, "x", '"string"')
    assert call(url, "PUT", "/mode/x", {"mode": "READONLY"}).body == {"mode": "READONLY"}
    assert register(url, "x", '"string"').body["id"] == 1, "it is there already"
    assert register(url, "x", '["null", "string"]').code == 42205
    assert call(url, "DELETE", "/subjects/x").code == 42205
    assert call(url, "GET", "/mode/y?defaultToGlobal=true").body == {"mode": "READWRITE"}
    assert call(url, "DELETE", "/mode/x").body == {"mode": "READONLY"}
    assert register(url, "x", '["null", "string"]').body["id"] == 2


def test_mode_import_keeps_ids_and_versions(url: str) -> None:
    assert call(url, "PUT", "/mode/x", {"mode": "IMPORT"}).body == {"mode": "IMPORT"}
    assert register(url, "x", '"string"').code == 42205, "an id is needed"
    assert register(url, "x", '"string"', id=1000, version=7).body["id"] == 1000
    assert register(url, "x", '"int"', id=1000, version=8).code == 42207
    assert register(url, "x", '"int"', id=1001, version=8).body["id"] == 1001, "nothing is compared"
    assert call(url, "GET", "/subjects/x/versions").body == [7, 8]
    assert call(url, "PUT", "/mode/x", {"mode": "READWRITE"}).status == 200
    assert register(url, "y", '"boolean"').body["id"] == 1002


def test_references_are_followed_and_protect_referenced_schemas(url: str) -> None:
    register(url, "item", avro("a", name="Item"))
    order = '{"type":"record","name":"Order","fields":[{"name":"item","type":"Item"}]}'
    assert register(url, "order", order).code == 42201
    references = [{"name": "Item", "subject": "item", "version": -1}]
    assert register(url, "order", order, references=references).body["id"] == 2
    stored = [{"name": "Item", "subject": "item", "version": 1}]
    found = call(url, "GET", "/schemas/ids/2").body
    assert (found["schema"], found["references"]) == (order, stored)
    assert call(url, "GET", "/subjects/item/versions/1/referencedby").body == [2]
    assert call(url, "DELETE", "/subjects/item/versions/1").code == 42206
    assert call(url, "DELETE", "/subjects/item").code == 42206
    assert call(url, "DELETE", "/subjects/order").status == 200
    assert call(url, "DELETE", "/subjects/item").status == 200
    assert call(url, "DELETE", "/subjects/item?permanent=true").code == 42206, "the referring one may come back"
    missing = [{"name": "Item", "subject": "item", "version": 9}]
    assert register(url, "order", order, references=missing).code == 42201


def test_lists_are_returned_in_pages(url: str) -> None:
    for number in range(5):
        register(url, f"s{number}", '"string"')
    assert call(url, "GET", "/subjects?offset=1&limit=2").body == ["s1", "s2"]
    assert call(url, "GET", "/subjects?subjectPrefix=s3").body == ["s3"]
    assert call(url, "GET", "/schemas/ids/1/subjects?offset=3").body == ["s3", "s4"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_body_that_a_cross_site_form_could_send_is_refused(url: str, content_type: str | None) -> None:
    raw = json.dumps({"schema": '"string"'}).encode()
    assert call(url, "POST", "/subjects/x/versions", raw=raw, content_type=content_type).code == 415
    assert call(url, "GET", "/subjects").body == []


def test_a_request_under_an_unknown_host_name_is_refused(url: str) -> None:
    assert call(url, "GET", "/subjects", headers={"Host": "evil.example:80"}).status == 421
    assert call(url, "GET", "/subjects", headers={"Host": "localhost:1"}).status == 200


def test_a_bad_body_causes_an_error_only_for_its_sender(url: str) -> None:
    deep = '{"type":"array","items":' * 10_000 + '"int"' + "}" * 10_000
    assert register(url, "x", deep).code == 42201
    lists = b"[" * 100_000 + b"]" * 100_000
    assert call(url, "POST", "/subjects/x/versions", raw=lists).code == 42201
    nested = '{"type":"record","name":"R%d","fields":[{"name":"f","type":'
    records = "".join(nested % number for number in range(10_000)) + '"int"' + "}]}" * 10_000
    assert register(url, "x", records).code == 42201
    assert call(url, "POST", "/subjects/x/versions", raw=b"[1]").code == 422
    assert call(url, "POST", "/subjects/x/versions", raw=b"{").code == 400
    assert call(url, "POST", "/subjects/x/versions", raw=b"\xff").code == 400
    large = json.dumps({"schema": avro("a", name="R" * 2_000_000)}).encode()
    assert call(url, "POST", "/subjects/x/versions", raw=large).code == 42209
    union = [{"type": "fixed", "name": f"F{number}", "size": 1} for number in range(1000)]
    assert register(url, "union", json.dumps(union)).status == 200
    lone = '{"type":"record","name":"L","doc":"\\ud800","fields":[]}'
    assert register(url, "lone", lone).status == 200
    assert call(url, "POST", "/subjects/lone", {"schema": lone}).body["version"] == 1


def test_a_body_of_50_megabytes_is_refused_while_others_are_answered(url: str) -> None:
    raw = b'{"schema": "' + b"x" * 50_000_000
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has stopped reading
        assert call(url, "POST", "/subjects/x/versions", raw=raw).code == 42209
    assert register(url, "x", '"string"').body["id"] == 1
