"""Regular expressions of JSON Schema mean in Python what they mean in JavaScript, whose engine says what is right."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import regress  # type: ignore[import-not-found, unused-ignore]
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from oncelog.schema_registry.formats.json_schema import parse
from oncelog.schema_registry.rest_errors import InvalidSchema
from oncelog.schemas.json_codec import JsonCodec
from oncelog.schemas.json_schema import ecma_patterns
from oncelog.schemas.json_schema.ecma_patterns import UncheckedPattern, compiled
from oncelog.schemas.json_schema.patterns import with_patterns
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import JSON, Schema

PATTERNS = [
    r"^\p{L}+$", r"^\P{L}+$", r"^[\p{Lu}\d-]+$", r"^[^\p{L}]$", r"^\p{Letter}$", r"^\p{Nd}$", r"^\p{gc=P}$",
    r"^(?<y>\d{4})-\k<y>$", r"(?<=a)b", r"(?<!a)b", r"^\u{1F600}$", r"^[^]$", r"^[]$", r"^[[a]+$", r"^\\p\{2\}$",
    r"^\cJ$", r"^[(?<a>]+$", r"^a\/b$", r"^\p{Script=Greek}+$", r"^[^\p{Script=Latin}\P{L}]$", r"^[[:a:]]$",
    r"^a{1,2}$", r"^a{,2}$", r"^{a}$", r"^a{e<=1}$",
]  # fmt: skip
TEXTS = [
    "", "a", "é", "ß1", "1", "A1-", "-", "!", "٣", "2020-2020", "2020-2021", "ab", "b", "😀", "[a", "\\p{2}", "\n",
    "<a>", "a/b", "β", "aa", "a{,2}", "{a}", "a{e<=1}", "[]",
]  # fmt: skip

LEGACY = (r"^[[a]+$", r"^[(?<a>]+$", r"^[[:a:]]$", r"^a{,2}$", r"^{a}$", r"^a{e<=1}$")
"""JavaScript refuses these with the flag ``u``."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_translated_pattern_finds_what_javascript_finds(pattern: str) -> None:
    engine = regress.Regex(pattern, "" if pattern in LEGACY else "u")
    expected = [text for text in TEXTS if engine.find(text)]
    assert [text for text in TEXTS if compiled(pattern).search(text)] == expected


def test_java_reads_backslash_z_as_the_end() -> None:
    assert compiled(r"a\z").search("ba")
    assert not compiled(r"a\z").search("ab")


def codec(schema: object) -> JsonCodec:
    return JsonCodec(Schema(json.dumps(schema), JSON), {})


def test_values_are_validated_by_translated_patterns() -> None:
    name = {"type": "string", "pattern": r"^(?<first>\p{Lu})\p{Ll}*$"}
    checked = codec({"properties": {"name": name}, "patternProperties": {r"^\p{Lu}+$": {"type": "integer"}},
                     "additionalProperties": False})  # fmt: skip
    checked.check({"name": "Ünal", "ÄÖ": 1})
    with pytest.raises(SchemaError, match=r"name: 'ünal' does not match '\^\(\?<first>"):
        checked.check({"name": "ünal"})
    with pytest.raises(SchemaError, match="'x' is not of type 'integer'"):
        checked.check({"ÄÖ": "x"})
    with pytest.raises(SchemaError, match="äö"):
        checked.check({"äö": 1})


def test_a_constant_that_looks_like_a_schema_is_not_translated() -> None:
    odd = {"patternProperties": {r"\p{L}": 1}, "pattern": "("}
    codec({"const": odd}).check(odd)
    codec({"properties": {"pattern": {"const": "("}, "patternProperties": {}}}).check({"pattern": "("})
    parse(json.dumps({"const": odd}), [])


def test_patterns_with_java_only_character_classes_are_accepted_and_not_checked() -> None:
    assert compiled(r"^\pL$").search("ä")
    with pytest.raises(UncheckedPattern):
        compiled(r"\p{javaLowerCase}")
    lower = {"pattern": r"^\p{javaLowerCase}+$", "patternProperties": {r"\p{javaLowerCase}": {"type": "integer"}},
             "additionalProperties": False}  # fmt: skip
    codec(lower).check("UPPER")
    codec(lower).check({"a": 1})
    parse(json.dumps(lower), [])


@pytest.mark.parametrize("pattern", [r"\m", r"\K", "(?|a|b)", "(?R)", "(?e)a", r"\L<a>", "(*FAIL)", r"\p{L"])
def test_syntax_that_neither_javascript_nor_java_has_is_refused(pattern: str) -> None:
    with pytest.raises(re.error):
        compiled(pattern)


SLOW = "^(a|a)*$"
LONG = "a" * 60 + "b"


@pytest.mark.parametrize(("schema", "value"), [
    ({"pattern": SLOW}, LONG),
    ({"patternProperties": {SLOW: False}}, {LONG: 1}),
    ({"patternProperties": {SLOW: True}, "additionalProperties": False}, {LONG: 1}),
    ({"allOf": [{"patternProperties": {SLOW: True}}], "unevaluatedProperties": False}, {LONG: 1}),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"propertyNames": {"pattern": SLOW}}}}, {LONG: 1}),
])  # fmt: skip
def test_a_pattern_search_that_would_take_years_is_given_up(
    schema: dict[str, object], value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ecma_patterns, "MAX_SECONDS", 0.05)
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    with pytest.raises(SchemaError, match=r"cannot be checked .* takes longer than 0.05 s"):
        codec(schema).check(value)
    listed = parse(json.dumps({"$schema": schema["$schema"], "enum": [value]}), [])
    assert "PATTERN_TOO_SLOW" in parse(json.dumps(schema), []).problems_reading(listed)[0]


def test_enum_values_are_compared_by_translated_patterns() -> None:
    upper = {"pattern": r"^\p{Lu}+$", "patternProperties": {r"^\p{Lu}+$": True}, "additionalProperties": False}
    reader = parse(json.dumps(upper), [])
    assert reader.problems_reading(parse(json.dumps({"enum": ["Ä", {"Ä": 1}]}), [])) == []
    assert "ENUM_ARRAY_NARROWED" in reader.problems_reading(parse(json.dumps({"enum": ["ä"]}), []))[0]
    assert "ENUM_ARRAY_NARROWED" in reader.problems_reading(parse(json.dumps({"enum": [{"ä": 1}]}), []))[0]


LEAVES = st.sampled_from([True, False, {}, {"type": "integer"}, {"required": ["a"]}])


def schemas(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
                "patternProperties": st.dictionaries(st.sampled_from(["a", "^b", "[bc]$"]), inner, max_size=2),
                "additionalProperties": inner,
                "unevaluatedProperties": inner,
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "oneOf": st.lists(inner, min_size=1, max_size=2),
                "not": inner,
                "if": inner,
                "then": inner,
                "else": inner,
                "dependentSchemas": st.dictionaries(st.sampled_from("abc"), inner, max_size=1),
            },
        ),
        max_leaves=6,
    )


@given(
    schemas(LEAVES | st.just({"$ref": "#/$defs/a"})),
    schemas(LEAVES),
    st.dictionaries(st.sampled_from(["a", "b", "c", "ab", "bc", "ca"]), st.sampled_from([1, "x", {}, {"a": 1}])),
)
def test_values_are_valid_exactly_if_the_jsonschema_library_accepts_them(
    schema: object, referenced: object, value: object
) -> None:
    whole = {"allOf": [schema], "$defs": {"a": referenced}}
    plain = Draft202012Validator(whole)
    assert with_patterns(Draft202012Validator)(whole).is_valid(value) == plain.is_valid(value)


def test_an_invalid_regular_expression_is_refused() -> None:
    for broken in ({"pattern": "("}, {"patternProperties": {"a{2,1}": True}}, {"items": [{"pattern": "[b-a]"}]}):
        with pytest.raises(InvalidSchema, match="is not a regular expression"):
            parse(json.dumps(broken), [])
    with pytest.raises(re.error):
        compiled("*a")
