"""Which quotas a filter finds, and which filters are refused (KIP-546, Kafka's ``ClientQuotasImage.describe``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from oncelog.errors import Error
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from tests.unit.broker.core.conftest import Admin

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
RATE = "consumer_byte_rate"
ENTITIES = (
    {"user": "alice"},
    {"user": None},
    {"user": "alice", "client-id": "app"},
    {"user": "alice", "client-id": None},
    {"client-id": "app"},
    {"client-id": None},
)


class Part(NamedTuple):
    kind: str
    match_type: int
    match: str | None = None


ALICE, ANY_USER, DEFAULT_USER = Part("user", EXACT, "alice"), Part("user", SPECIFIED), Part("user", DEFAULT)
APP, ANY_CLIENT, DEFAULT_CLIENT = (
    Part("client-id", EXACT, "app"),
    Part("client-id", SPECIFIED),
    Part("client-id", DEFAULT),
)


def setting(entities: Any = ENTITIES) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(
        [
            EntryData([EntityData(kind, name) for kind, name in entity.items()], [OpData(RATE, number + 1.0, False)])
            for number, entity in enumerate(entities)
        ],
        False,
    )


def asking(*parts: Part, strict: bool = False) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest([ComponentData(*part) for part in parts], strict)


def found(answer: Any) -> list[dict[str, str | None]]:
    """The entities in the order in which they were made."""
    assert answer.error_code == Error.NONE, answer
    by_value = sorted((entry.values[0].value, entry) for entry in answer.entries)
    return [{part.entity_type: part.entity_name for part in entry.entity} for _, entry in by_value]


@pytest.mark.parametrize(
    ("parts", "strict", "numbers"),
    [
        ((), False, (0, 1, 2, 3, 4, 5)),
        ((), True, ()),
        ((ALICE,), False, (0, 2, 3)),
        ((ALICE,), True, (0,)),
        ((DEFAULT_USER,), False, (1,)),
        ((ANY_USER,), False, (0, 1, 2, 3)),
        ((ANY_USER,), True, (0, 1)),
        ((APP,), False, (2, 4)),
        ((APP,), True, (4,)),
        ((DEFAULT_CLIENT,), False, (3, 5)),
        ((ANY_CLIENT,), True, (4, 5)),
        ((ALICE, APP), False, (2,)),
        ((ALICE, DEFAULT_CLIENT), True, (3,)),
        ((ANY_USER, ANY_CLIENT), True, (2, 3)),
        ((Part("user", EXACT, "bob"),), False, ()),
        ((Part("ip", SPECIFIED),), False, ()),
    ],
)
def test_a_filter_finds_entities_with_all_its_types(
    admin: Admin, parts: tuple[Part, ...], strict: bool, numbers: tuple[int, ...]
) -> None:
    """A strict one only those that have no other."""
    admin.ask(setting())
    assert found(admin.ask(asking(*parts, strict=strict))) == [ENTITIES[number] for number in numbers]


REFUSED = (
    ((Part("", EXACT, "x"),), Error.INVALID_REQUEST, "Invalid empty entity type."),
    ((ALICE, ANY_USER), Error.INVALID_REQUEST, "Entity type user cannot appear more than once in the filter."),
    ((Part("group", EXACT, "x"),), Error.UNSUPPORTED_VERSION, "Unsupported entity type group"),
    (
        (Part("user", EXACT),),
        Error.INVALID_REQUEST,
        "Request specified MATCH_TYPE_EXACT, but set match string to null.",
    ),
    (
        (Part("user", DEFAULT, "x"),),
        Error.INVALID_REQUEST,
        "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
    ),
    (
        (Part("user", SPECIFIED, "x"),),
        Error.INVALID_REQUEST,
        "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
    ),
    ((Part("user", 3),), Error.INVALID_REQUEST, "Unknown match type 3"),
    (
        (Part("ip", SPECIFIED), ANY_USER),
        Error.INVALID_REQUEST,
        "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
        "filter component.",
    ),
)


@pytest.mark.parametrize(("parts", "error", "message"), REFUSED)
def test_an_invalid_quota_filter_is_refused(admin: Admin, parts: tuple[Part, ...], error: Error, message: str) -> None:
    answer = admin.ask(asking(*parts))
    assert (answer.error_code, answer.error_message, answer.entries) == (error, message, None)


def test_a_filter_for_addresses_finds_their_default_quota_too(admin: Admin) -> None:
    entities = ({"ip": "127.0.0.1"}, {"ip": None})
    request = setting(entities)
    for entry in request.entries:
        entry.ops[0].key = "connection_creation_rate"
    admin.ask(request)
    assert found(admin.ask(asking(Part("ip", SPECIFIED)))) == list(entities)
    assert found(admin.ask(asking(Part("ip", DEFAULT)))) == [entities[1]]
    assert found(admin.ask(asking(Part("ip", EXACT, "127.0.0.1"), strict=True))) == [entities[0]]


@pytest.mark.parametrize(("name", "shown"), [("alice", "alice"), (None, "null")])
def test_the_quota_of_an_entity_that_a_request_names_twice_is_unchanged(
    admin: Admin, name: str | None, shown: str
) -> None:
    twice = EntryData([EntityData("user", name)], [OpData(RATE, rate, False) for rate in (1.0, 2.0)])
    once = EntryData([EntityData("user", "bob")], [OpData(RATE, 1.0, False)])
    answer: Any = admin.ask(AlterClientQuotasRequest([twice, once], False))
    message = f"Ignoring duplicate entity ClientQuotaEntity(entries={{user={shown}}})"
    assert [(entry.error_code, entry.error_message) for entry in answer.entries] == [
        (Error.INVALID_REQUEST, message),
        (Error.NONE, None),
    ]
    assert found(admin.ask(asking(ANY_USER))) == [{"user": "bob"}]
