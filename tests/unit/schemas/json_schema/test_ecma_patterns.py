"""Regular expressions of JSON Schema mean in Python what they mean in JavaScript, whose engine says what is right."""

from __future__ import annotations

import json
import re

import pytest
import regress  # type: ignore[import-not-found, unused-ignore]

from oncelog.schema_registry.formats.json_schema import parse
from oncelog.schema_registry.rest_errors import InvalidSchema
from oncelog.schemas.json_codec import JsonCodec
from oncelog.schemas.json_schema.ecma_patterns import UncheckedPattern, compiled
from oncelog.schemas.schema_errors import SchemaError
from oncelog.schemas.structs import JSON, Schema

PATTERNS = [
    r"^\p{L}+$", r"^\P{L}+$", r"^[\p{Lu}\d-]+$", r"^[^\p{L}]$", r"^\p{Letter}$", r"^\p{Nd}$", r"^\p{gc=P}$",
    r"^(?<y>\d{4})-\k<y>$", r"(?<=a)b", r"(?<!a)b", r"^\u{1F600}$", r"^[^]$", r"^[]$", r"^[[a]+$", r"^\\p\{2\}$",
    r"^\cJ$", r"^[(?<a>]+$", r"^a\/b$",
]  # fmt: skip
TEXTS = [
    "", "a", "é", "ß1", "1", "A1-", "-", "!", "٣", "2020-2020", "2020-2021", "ab", "b", "😀", "[a", "\\p{2}", "\n",
    "<a>", "a/b",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_what_javascript_finds(pattern: str) -> None:
    engine = regress.Regex(pattern, "" if pattern in (r"^[[a]+$", r"^[(?<a>]+$") else "u")
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


def test_a_value_that_looks_like_a_schema_is_left_alone() -> None:
    odd = {"patternProperties": {r"\p{L}": 1}, "pattern": "("}
    codec({"const": odd}).check(odd)
    codec({"properties": {"pattern": {"const": "("}, "patternProperties": {}}}).check({"pattern": "("})
    parse(json.dumps({"const": odd}), [])


def test_limits_that_only_python_has_are_not_enforced() -> None:
    with pytest.raises(UncheckedPattern):
        compiled(r"\p{Script=Greek}")
    greek = {"pattern": r"^\p{Script=Greek}+$", "patternProperties": {r"\p{Script=Greek}": {"type": "integer"}},
             "additionalProperties": False}  # fmt: skip
    codec(greek).check("latin")
    codec(greek).check({"β": 1})
    parse(json.dumps(greek), [])


def test_an_invalid_regular_expression_is_refused() -> None:
    for broken in ({"pattern": "("}, {"patternProperties": {"a{2,1}": True}}, {"items": [{"pattern": "[b-a]"}]}):
        with pytest.raises(InvalidSchema, match="is not a regular expression"):
            parse(json.dumps(broken), [])
    with pytest.raises(re.error):
        compiled("*a")
