"""RE2's syntax over topic names: the same matches as Python's ``re`` if both agree; size and work are bounded."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oncelog.broker.coordinator.regex import InvalidRegex, LinearRegex


@pytest.mark.parametrize(
    ("regex", "matching", "others"),
    [
        ("", [""], ["a"]),
        ("orders", ["orders"], ["order", "orders2", "xorders"]),
        ("orders.*", ["orders", "orders-eu"], ["xorders"]),
        ("(^[ab]$)", ["a", "b"], ["c", "ab"]),
        ("^a|b$", ["a", "b"], ["ab"]),
        (r"a\.b", ["a.b"], ["axb"]),
        (r"\w+-\d{2,3}", ["eu-12", "x_1-123"], ["eu-1", "eu-1234", "-12"]),
        (r"[^_].*", ["a", "t1"], ["_a", ""]),
        (r"[\w.-]+", ["a.b-c_1"], ["a b"]),
        (r"[[:alpha:]]+[[:digit:]]", ["ab1"], ["ab", "1"]),
        (r"[]a]+", ["]a"], ["b"]),
        (r"[a-]+", ["a-a"], ["b"]),
        ("(?i)ORDERS", ["orders", "Orders"], ["order"]),
        ("a(?i)b(?-i)c", ["abc", "aBc"], ["abC", "Abc"]),
        ("(?i:a)b", ["ab", "Ab"], ["aB"]),
        ("(?:ab)+?", ["ab", "abab"], ["aba"]),
        ("(?P<region>eu|us)-x", ["eu-x", "us-x"], ["x"]),
        ("(?<region>eu)-x", ["eu-x"], ["-x"]),
        (r"\Qa.b\E.*", ["a.b", "a.bc"], ["axb"]),
        (r"\Aa\z", ["a"], ["ab"]),
        (r"\ba\b.*", ["a", "a-b"], ["ab"]),
        (r"a\Bb", ["ab"], ["a-b"]),
        (r"\x61\x{62}", ["ab"], ["x61"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaa"], ["a"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
        ("x{", ["x{"], ["x"]),
        (r"[\d-z]+", ["1-z"], ["a"]),
        ("a||b", ["a", "", "b"], ["ab"]),
        ("()", [""], ["a"]),
    ],
)
def test_regular_expressions_match_whole_names(regex: str, matching: list[str], others: list[str]) -> None:
    compiled = LinearRegex(regex)
    assert [name for name in [*matching, *others] if compiled.matches(name)] == matching


@pytest.mark.parametrize(
    "regex",
    [
        "(", ")", "a)", "[a", "[z-a]", "*a", "a**", "a{1001}", "a{3,2}", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"(a)\1",
        "(?>a)", "(?P<x y>a)", r"\k<a>", "a\\", "[[:nope:]]", r"\x{zz}", "(?z)a", "((a{100}){100}){100}", "(" * 200,
        "a{2}{3}",
    ],
)  # fmt: skip
def test_a_pattern_that_re2_does_not_support_is_refused_with_the_reason(regex: str) -> None:
    with pytest.raises(InvalidRegex, match="is not a valid regular expression: "):
        LinearRegex(regex)


def test_expressions_that_overload_backtracking_engines_are_matched_quickly() -> None:
    for regex in ("(a*)*b", "(a|a)*b", "(a|aa)+$b", "((a+)+)+b", "(.*)*(.*)*(.*)*x"):
        assert not LinearRegex(regex).matches("a" * 249)


atoms = st.sampled_from(["a", "b", "-", r"\.", ".", "[ab]", "[^a]", r"\d", r"\w", "1", "(?:ab)"])


def combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.tuples(parts, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
        st.lists(parts, min_size=2, max_size=3).map(lambda p: f"(?:{'|'.join(p)})"),
    )


@given(st.recursive(atoms, combine, max_leaves=8), st.lists(st.text("ab-.1_", max_size=8), max_size=8))
@settings(max_examples=150, deadline=None)
def test_our_regular_expressions_match_what_pythons_engine_matches(regex: str, names: list[str]) -> None:
    compiled, reference = LinearRegex(regex), re.compile(regex, re.ASCII)
    for name in names:
        assert compiled.matches(name) == (reference.fullmatch(name) is not None)


@given(st.text(max_size=30))
@settings(max_examples=150, deadline=None)
def test_any_string_is_compiled_as_a_regular_expression_or_refused(text: str) -> None:
    with suppress(InvalidRegex):
        assert LinearRegex(text).matches("orders-1") in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "(((){1000}){1000}){1000}",
        "((a{0,1000}){0,1000}){0,1000}",
        "(" * 5000,
        "(a)" * 10_000,
        "a|" * 10_000,
        "(ab){1001}",
        r"(\pL{100}){10}",
    ],
)
def test_an_expression_that_would_take_for_ever_to_parse_or_compile_is_refused(text: str) -> None:
    with pytest.raises(InvalidRegex):
        LinearRegex(text)


def test_matching_pauses_after_a_fixed_amount_of_work() -> None:
    """Work done for one name counts towards the next one's pause."""
    expression = LinearRegex(r"(\w?){900}!")
    pauses = [len(list(expression.matching("a" * 20))) for _ in range(12)]
    assert 2 <= sum(pauses) < 12


def test_the_total_matching_work_of_one_expression_is_bounded() -> None:
    expression = LinearRegex(r"(\w?){900}!|(.?.?){300}x")
    names = ["a" * length + chr(ord("a") + length % 26) for length in range(249)]
    with pytest.raises(InvalidRegex, match="work"):
        list(map(expression.matches, names))


def test_an_ordinary_expression_is_matched_with_very_many_names() -> None:
    expression = LinearRegex(r"orders-[\w.-]+")
    assert sum(expression.matches(f"orders-{number}") for number in range(50_000)) == 50_000


def test_without_the_library_an_expression_is_refused_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(InvalidRegex, match=r"`a\.\*` cannot be matched by this broker: .*oncelog\[regex\]"):
        LinearRegex("a.*")


def test_a_pattern_with_nested_repetition_is_matched_in_linear_time() -> None:
    assert not LinearRegex("(a+)+b").matches("a" * 249)
    assert LinearRegex("(a+)+b").matches("a" * 248 + "b")


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [("é+", "éé", "è"), ("[^é]", "è", "é"), (".é.", "xéж", "xeж")],
)
def test_letters_beyond_ascii_in_a_pattern_match_only_themselves(text: str, matching: str, other: str) -> None:
    assert LinearRegex(text).matches(matching)
    assert not LinearRegex(text).matches(other)
