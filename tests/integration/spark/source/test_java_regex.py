"""``subscribePattern`` means what it means to ``java.util.regex``: the JVM is asked about each expression, too."""

from __future__ import annotations

import random
from contextlib import suppress

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
    """Spark's ``RLIKE`` is Java's ``find``. A query with an expression that Java refuses fails and names it."""
    chosen = random.Random(20260105)
    ours = {}
    for _ in range(_CASES):
        text = "".join(chosen.choices(_PIECES, k=chosen.randint(1, 5)))
        with suppress(NotJavaRegex):
            compiled = compile_java(text)
            ours[text] = [name for name in _NAMES if compiled.search(name)]
    assert len(ours) > _CASES // 4
    rows = [(text, list(_NAMES)) for text in ours]
    asked = spark.createDataFrame(rows, "text string, names array<string>")
    theirs = {
        row.text: row.found
        for row in asked.selectExpr("text", "filter(names, name -> name RLIKE text) AS found").collect()
    }
    assert ours == theirs
