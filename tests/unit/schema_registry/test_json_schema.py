"""JSON Schema: which changes a reader survives, by Confluent's rules, and by trying documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from oncelog.schema_registry.formats.json_schema import parse
from oncelog.schema_registry.formats.parsed import Dependency
from oncelog.schema_registry.rest_errors import InvalidSchema

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def problems(before: Any, after: Any) -> list[str]:
    """Why data of ``before`` cannot be read with ``after``."""
    return parse(json.dumps(after), []).problems_reading(parse(json.dumps(before), []))


def of(*, closed: bool = False, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    more = {"additionalProperties": False} if closed else {}
    return {"type": "object", "properties": properties, "required": list(required), **more}


ALLOWED: dict[str, tuple[Any, Any]] = {
    "anything becomes the empty schema": (of(a=STRING), {}),
    "an integer becomes a number": (INTEGER, NUMBER),
    "a type is added": (STRING, {"type": ["string", "null"]}),
    "titles and defaults change": ({"type": "string", "title": "a"}, {"type": "string", "default": "b"}),
    "a property leaves an open object": (of(a=STRING, b=STRING), of(a=STRING)),
    "a property enters a closed object": (of(closed=True, a=STRING), of(closed=True, a=STRING, b=STRING)),
    "it is required with a default": (
        of(closed=True), of(closed=True, b={"type": "string", "default": ""}, required=("b",)),
    ),
    "a property enters that may have any value": (of(a=STRING), of(a=STRING, b={})),
    "a property leaves and the rest covers it": (
        of(a=INTEGER, closed=True), {"type": "object", "additionalProperties": NUMBER},
    ),
    "what was required is not any more": (of(a=STRING, required=("a",)), of(a=STRING)),
    "limits widen": ({"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 4}),
    "a limit goes": ({"type": "number", "minimum": 3}, NUMBER),
    "a value is added": ({"enum": ["a"]}, {"enum": ["a", "b"]}),
    "a branch is added": ({"oneOf": [STRING]}, {"oneOf": [STRING, INTEGER]}),
    "one type becomes a branch": (STRING, {"anyOf": [INTEGER, STRING]}),
    "a part of allOf goes": ({"allOf": [of(a=STRING), of(b=STRING)]}, {"allOf": [of(a=STRING)]}),
    "less is excluded": ({"not": {"type": ["string", "null"]}}, {"not": STRING}),
    "a divisor becomes its divisor": ({"type": "number", "multipleOf": 6}, {"type": "number", "multipleOf": 3}),
    "a tuple's item is added where nothing else was": (
        {"type": "array", "items": [STRING], "additionalItems": False},
        {"type": "array", "items": [STRING, INTEGER], "additionalItems": False},
    ),
    "a property enters under a pattern": (
        {**of(closed=True), "patternProperties": {"^s_": STRING, "^i_": INTEGER}},
        {**of(closed=True, i_1=NUMBER), "patternProperties": {"^s_": STRING, "^i_": INTEGER}},
    ),
    "a property leaves that a pattern covers": (
        of(closed=True, a=STRING, i_1=INTEGER),
        {**of(closed=True, a=STRING), "patternProperties": {"^s_": STRING, "^i_": NUMBER}},
    ),
    "true and false of draft 4": (
        {"$schema": DRAFT_4, "type": "object", "properties": {"a": INTEGER}, "additionalProperties": True},
        {"$schema": DRAFT_4, "type": "object", "properties": {"a": NUMBER}, "additionalProperties": True},
    ),
    "a recursive schema stays": (
        {"$ref": "#/definitions/n", "definitions": {"n": of(next={"$ref": "#/definitions/n"}, a=INTEGER)}},
        {"$ref": "#/definitions/n", "definitions": {"n": of(next={"$ref": "#/definitions/n"}, a=NUMBER)}},
    ),
}  # fmt: skip
REFUSED: dict[str, tuple[Any, Any]] = {
    "a number becomes an integer": (NUMBER, INTEGER),
    "a type changes": (STRING, INTEGER),
    "a type goes": ({"type": ["string", "null"]}, STRING),
    "a property enters an open object": (of(a=STRING), of(a=STRING, b=STRING)),
    "a property leaves a closed object": (of(closed=True, a=STRING, b=STRING), of(closed=True, a=STRING)),
    "an open object closes": (of(a=STRING), of(closed=True, a=STRING)),
    "something is required": (of(a=STRING), of(a=STRING, required=("a",))),
    "limits narrow": ({"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 2}),
    "a limit comes": (NUMBER, {"type": "number", "exclusiveMaximum": 3}),
    "a value goes": ({"enum": ["a", "b"]}, {"enum": ["a"]}),
    "values are listed": (STRING, {"type": "string", "enum": ["a"]}),
    "a branch goes": ({"oneOf": [STRING, INTEGER]}, {"oneOf": [STRING]}),
    "a part of allOf comes": ({"allOf": [of(a=STRING)]}, {"allOf": [of(a=STRING), of(b=STRING)]}),
    "a pattern changes": ({"type": "string", "pattern": "a+"}, {"type": "string", "pattern": "a*"}),
    "more is excluded": ({"not": STRING}, {"not": {"type": ["string", "null"]}}),
    "a divisor changes": ({"type": "number", "multipleOf": 3}, {"type": "number", "multipleOf": 6}),
    "items differ": ({"type": "array"}, {"type": "array", "uniqueItems": True}),
    "a pattern narrows a property": (
        of(closed=True, i_1=STRING),
        {**of(closed=True, i_1=STRING), "patternProperties": {"^i_": INTEGER}},
    ),
    "a property leaves that a pattern does not cover": (
        of(closed=True, a=STRING, b=STRING),
        {**of(closed=True, a=STRING), "patternProperties": {"^s_": STRING}},
    ),
    "a condition comes": (of(a=STRING), {**of(a=STRING), "if": {}, "then": False}),
    "a recursive schema changes deep inside": (
        {"$ref": "#/definitions/n", "definitions": {"n": of(next={"$ref": "#/definitions/n"}, a=NUMBER)}},
        {"$ref": "#/definitions/n", "definitions": {"n": of(next={"$ref": "#/definitions/n"}, a=INTEGER)}},
    ),
}


@pytest.mark.parametrize("what", ALLOWED)
def test_a_compatible_change_is_allowed(what: str) -> None:
    assert problems(*ALLOWED[what]) == []


@pytest.mark.parametrize("what", REFUSED)
def test_an_incompatible_change_is_refused(what: str) -> None:
    found = problems(*REFUSED[what])
    assert found
    assert all(one.startswith("{errorType:'") for one in found)


def test_a_json_schema_keyword_that_is_not_compared_is_reported() -> None:
    assert "does not compare if" in problems(*REFUSED["a condition comes"])[0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, "", "a", "aaa"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=4,
)
LEAVES: st.SearchStrategy[Any] = st.one_of(
    st.just(True),
    st.just({}),
    st.sampled_from(["string", "integer", "number", "null", "boolean"]).map(lambda name: {"type": name}),
    st.integers(-2, 2).map(lambda bound: {"type": "number", "minimum": bound}),
    st.integers(0, 2).map(lambda bound: {"type": "string", "maxLength": bound}),
    st.lists(VALUES, min_size=1, max_size=3).map(lambda values: {"enum": values}),
)


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    rest = st.one_of(st.booleans(), inner)
    return st.one_of(
        st.builds(
            lambda properties, patterns, rest, required: {
                "type": "object",
                "properties": properties,
                "patternProperties": patterns,
                "additionalProperties": rest,
                "required": required,
            },
            named, st.dictionaries(st.sampled_from(["a", "[bc]", "^.$"]), inner, max_size=1), rest,
            st.lists(st.sampled_from("abc"), max_size=1),
        ),
        st.builds(lambda first, rest: {"type": "array", "items": first, "additionalItems": rest},
                  st.lists(inner, min_size=1, max_size=2), rest),
        inner.map(lambda one: {"type": "array", "items": one}),
        st.builds(lambda name, parts: {name: parts}, st.sampled_from(["anyOf", "allOf"]),
                  st.lists(inner, min_size=1, max_size=2)),
        inner.map(lambda one: {"not": one}),
    )  # fmt: skip


SCHEMAS = st.recursive(LEAVES, larger, max_leaves=4)


@given(SCHEMAS, SCHEMAS, st.lists(VALUES, min_size=5, max_size=20))
def test_if_a_schema_change_is_allowed_every_old_document_stays_valid(
    before: Any, after: Any, documents: list[Any]
) -> None:
    allowed = not problems(before, after)
    for document in documents:
        if allowed and Draft7Validator(before).is_valid(document):
            assert Draft7Validator(after).is_valid(document)


@given(SCHEMAS)
@example({"type": "array", "items": {"allOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}]}})
def test_a_schema_is_compatible_with_itself(schema: Any) -> None:
    assert problems(schema, schema) == []


@pytest.mark.parametrize(
    "draft",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
        "http://unknown.example/schema",
    ],
)
def test_values_are_validated_by_the_readers_draft(draft: str) -> None:
    assert problems({"enum": ["a"]}, {"$schema": draft, "type": "string"}) == []
    assert problems({"enum": ["a", 1]}, {"$schema": draft, "type": "string"}) != []


def test_spaces_and_the_order_of_keywords_do_not_change_the_comparison() -> None:
    assert parse('{ "type" : "string" }', []).text == '{"type":"string"}'
    assert parse('{"b":1,"a":2}', []).text == '{"b":1,"a":2}'
    assert parse('{"b":1,"a":2}', []).normalized() == '{"a":2,"b":1}'


def test_references_are_resolved_only_among_the_given_schemas() -> None:
    item = Dependency("item.json", json.dumps({"$id": "http://x/item.json", "type": "integer"}))
    for name in ("item.json", "http://x/item.json"):
        text = json.dumps({"type": "object", "properties": {"a": {"$ref": name}}})
        found = parse(text, [item])
        wider = parse(text, [Dependency("item.json", item.text.replace("integer", "number"))])
        assert wider.problems_reading(found) == []
        assert found.problems_reading(wider) != []
    with pytest.raises(InvalidSchema, match="nowhere"):
        parse('{"$ref": "nowhere.json"}', [item])
    with pytest.raises(InvalidSchema, match="refers to"):
        parse('{"properties": {"a": {"$ref": "#/definitions/none"}}}', [])


@pytest.mark.parametrize(
    "text",
    ["", "{", "1", '"string"', "[]", '{"type": 5}', '{"type": "nothing"}', '{"required": "a"}', '{"minimum": "1"}',
     '{"$ref": "#/definitions/a', '{"not":' * 10_000 + "{}" + "}" * 10_000, '{"$ref": "file:///etc/passwd"}'],
)  # fmt: skip
def test_an_invalid_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse(text, [])


def test_the_comparison_of_schemas_with_circular_references_or_large_products_terminates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("oncelog.schema_registry.formats.json_reading.MAX_COMPARISONS", 2_000)
    circle = json.dumps({"definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
                         "$ref": "#/definitions/a"})  # fmt: skip
    assert "TOO_LARGE" in parse(circle, []).problems_reading(parse('{"type":"string"}', []))[0]
    many, wrong = (
        {"anyOf": [{**of(closed=True, a=INTEGER), "required": [f"{letter}{number}"]} for number in range(60)]}
        for letter in "pq"
    )
    assert "TOO_LARGE" in problems(many, wrong)[0]
