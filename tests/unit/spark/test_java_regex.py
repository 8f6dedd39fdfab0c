"""``subscribePattern`` in Java's language: translated, or refused by name; ``tests/integration/spark`` asks Java
itself.
"""

from __future__ import annotations

import pytest

from oncelog.spark.java_regex import NotJavaRegex, compile_java


@pytest.mark.parametrize(
    ("pattern", "matches", "not_matched"),
    [
        ("orders-.*", "orders-eu", "xorders-eu"),
        (r"\Qa.b\E-\d+", "a.b-12", "axb-12"),
        (r"\p{Alpha}+", "abc", "a1"),
        (r"\P{Digit}+", "abc", "a1"),
        (r"[\p{Lower}_]+", "a_b", "aB"),
        ("(?<year>20[0-9]{2})-.*", "2024-x", "1999-x"),
        (r"(?<x>a)\k<x>", "aa", "ab"),
        ("(?i)ORDERS", "orders", "order"),
        ("(?:a|b)++c", "abac", "abab"),
        ("a$|^b", "a", "ba"),
        (r"\x61{2,}", "aaa", "a"),
        ("[]a]", "a", "b"),
        (r"[-\p{Lower}]", "-", "_"),
        ("[a.|]", "|", "b"),
    ],
)
def test_java_expressions_mean_what_they_mean_in_java(pattern: str, matches: str, not_matched: str) -> None:
    compiled = compile_java(pattern)
    assert compiled.fullmatch(matches)
    assert not compiled.fullmatch(not_matched)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a[b&&c]", "a class within a class and && are not supported"),
        ("[a[b]]", "a class within a class"),
        (r"\p{IsGreek}", "is supported only for Lower"),
        ("a{,3}", r"must be written \\{"),
        ("(?P<x>a)", "the only supported flags are"),
        ("a(?i)b", "the only supported flags are"),
        (r"\R", r"\\R is not supported"),
        (r"\07", r"\\0 is not supported"),
        (r"[a-\p{Lower}]", "a range cannot end with"),
        (r"(a)\100", r"a digit after \\1 may mean another group in Python: write \(\?:\\1\)"),
        ("a(b", 'unclosed group "[(]"'),
        ("a)b", 'unmatched "[)]"'),
        ("[ab", "unclosed character class"),
        ("a\\", "single backslash"),
        ("(?<=a+)b", "look-behind"),
        ("*a", "nothing to repeat"),
        ("(?!b)?+", "possessive"),
        ("(?:(?=b)){0,1}+", "possessive"),
    ],
)
def test_patterns_that_python_matches_differently_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(NotJavaRegex, match=reason):
        compile_java(pattern)
