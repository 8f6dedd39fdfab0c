"""Java properties files; expected values follow the documentation of ``java.util.Properties.load``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.errors import ConfigError
from oncelog.settings.properties_file import dump_properties, load_properties


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", {}),
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("a = b", {"a": "b"}),
        ("a  :  b  ", {"a": "b  "}),
        ("  a=b", {"a": "b"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("# c\n! d\n\n   \n\t# e\na=b", {"a": "b"}),
        ("a=b # not a comment", {"a": "b # not a comment"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("fruits  apple, banana, \\\n        pear, \\\n  mango", {"fruits": "apple, banana, pear, mango"}),
        ("a=b\\\n# not a comment", {"a": "b# not a comment"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\\\\\nc", {"a": "b\\c"}),
        ("a=\\t\\n\\r\\f\\\\", {"a": "\t\n\r\f\\"}),
        ("a=\\u00e9\\u0041", {"a": "éA"}),
        ("a=\\z\\b\\'", {"a": "zb'"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=\\ b", {"a": " b"}),
        ('sasl.jaas.config=org.X required \\\n  user="a";', {"sasl.jaas.config": 'org.X required user="a";'}),
        ("a=b\\", {"a": "b"}),
        ("log.dirs=/tmp/x\nlisteners=PLAINTEXT://:9092", {"log.dirs": "/tmp/x", "listeners": "PLAINTEXT://:9092"}),
    ],
)
def test_a_properties_file_is_read_as_by_java(text: str, pairs: dict[str, str]) -> None:
    assert load_properties(text) == pairs


def test_a_malformed_unicode_escape_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match="line 2"):
        load_properties("a=b\nc=\\u00x\n")


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_written_properties_are_read_back(pairs: dict[str, str]) -> None:
    text = dump_properties(pairs)
    assert text.isascii()
    assert load_properties(text) == pairs


def test_a_pem_key_of_several_lines_is_written_as_one_property() -> None:
    assert dump_properties({"ssl.keystore.key": "-----BEGIN\nabc=\n"}) == "ssl.keystore.key=-----BEGIN\\nabc=\\n\n"
