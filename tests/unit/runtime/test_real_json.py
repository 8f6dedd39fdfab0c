"""JSON that no mock replaces."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import pytest

from oncelog.runtime import real_json

VALUES: tuple[Any, ...] = ({"a": [1, 2.5, None, True], "ä": "\u2028"}, [], "x", float("inf"), {"b": 1, "a": {}})
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"ensure_ascii": False},
    {"separators": (",", ":"), "sort_keys": True},
    {"indent": 2},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_texts_are_those_of_json_also_while_it_is_mocked(value: Any, options: dict[str, Any]) -> None:
    text = json.dumps(value, **options)
    with mock.patch("json.dumps"), mock.patch("json.loads"):
        assert real_json.dumps(value, **options) == text
        assert real_json.loads(text) == value


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-le"])
def test_bytes_are_read_in_the_encodings_that_json_reads(encoding: str) -> None:
    data = '{"ä": 1}'.encode(encoding)
    assert real_json.loads(data) == real_json.loads(bytearray(data)) == json.loads(data)


@pytest.mark.parametrize("wrong", ["", "{", b"\xff{}", "\ufeff1"], ids=repr)
def test_what_json_refuses_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        json.loads(wrong)
    with pytest.raises(ValueError):
        real_json.loads(wrong)
