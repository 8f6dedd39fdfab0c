"""``subscribePattern`` means what it means to ``java.util.regex``: each expression is put to the JVM too."""

from __future__ import annotations

import random
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from oncelog.spark.java_regex import NotJavaRegex, compile_java

_PIECES = (
    *("a", "b", "7", "-", "_", ".", r"\.", r"\d", r"\w", r"\W", "[a-c]", "[^a]", r"[\d_]", "[.-]", "[]a]", "[a|&~]"),
    *("(a|b)", "(?:ab)", "(?>a|ab)", "(?=a)", "(?!b)", "(?<=a)", "(?<n>b)", r"\1", "^", "$", r"\b", r"\z", r"\Z"),
    *("*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "++", "?+", "|", r"\Q.a\E", r"\p{Alpha}", r"\P{Lower}"),
    *(
        r"[\p{Digit}-]",
        r"\x61",
        "{",
        "}",
        "]",
        "[",
        "(",
        ")",
        "(?i)",
        "(?i:A)",
        r"\k<n>",
        "0",
        r"[a-\p{Lower}]",
        r"\h",
        "&&",
        r"\-",
        "#",
        " ",
    ),
)
_NAMES = (
    "",
    "a",
    "b",
    "ab",
    "ba",
    "aa",
    "abab",
    "7",
    "a-7",
    "a_b.c",
    ".a",
    "A",
    "aB7",
    "-",
    "a.a",
    "a{",
    "&",
    "|",
    "#",
)
_CASES = 4000


def test_every_accepted_topic_pattern_matches_as_in_java(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    chosen = random.Random(20260105)
    taken = 0
    for _ in range(_CASES):
        text = "".join(chosen.choices(_PIECES, k=chosen.randint(1, 5)))
        try:
            ours = compile_java(text)
        except NotJavaRegex:
            continue
        try:
            java = jvm.java.util.regex.Pattern.compile(text)
        except Py4JJavaError as error:
            raise AssertionError(f"Java refuses {text!r}, we take it: {error.java_exception.getMessage()}") from error
        taken += 1
        theirs = [name for name in _NAMES if java.matcher(name).find()]
        assert [name for name in _NAMES if ours.search(name)] == theirs, text
    assert taken > _CASES // 4
