"""Translates Java's regular expressions to Python's, for ``subscribePattern``.

Called by :mod:`oncelog.spark.options`. Spark's connector matches topics with ``java.util.regex``. Syntax that means the
same in Python is kept, syntax that is only written differently is translated, and syntax that Python cannot match the
same way is refused by name. Topic names are ASCII without spaces or line breaks, so differences for other texts do not
matter.
"""

from __future__ import annotations

import re

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7F",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r"\x20\t",
    "Cntrl": r"\x00-\x1F\x7F",
    "XDigit": "0-9a-fA-F",
    "Space": r"\x20\t\n\x0B\f\r",
}
"""The characters that ``\\p{NAME}`` matches, written as part of a character class."""

_SAME = frozenset("dDwWsStnrf")
_PLACES = {"b": r"\b", "B": r"\B", "A": r"\A", "Z": r"\Z", "z": r"\Z"}
_POSSESSIVE_GROUP = re.compile(r"\)(?:[?*+]|\{[\d,]+\})\+")
_LOOKAROUND = re.compile(r"\(\?<?[=!]")
_QUANTIFIER = re.compile(r"\{(\d+)(,(\d*))?\}")


class NotJavaRegex(ValueError):
    """The expression is invalid, or cannot be matched as in Java; the message names the part."""


def compile_java(pattern: str) -> re.Pattern[str]:
    """Compile a Java regular expression; it finds what Java's finds in a topic's name. Raises NotJavaRegex."""
    translated = _Translator(pattern).translate()
    # CPython 3.11.2 matches (?!b)?+ with "b"
    if _POSSESSIVE_GROUP.search(translated) and _LOOKAROUND.search(translated):
        raise NotJavaRegex("a group with (?= or (?! may not be followed by a possessive ?+, *+, ++ or {n,m}+ here")
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise NotJavaRegex(str(error)) from error


class _Translator:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._out: list[str] = []
        self._depth = 0

    def translate(self) -> str:
        while self._at < len(self._text):
            self._step()
        if self._depth:
            raise NotJavaRegex('unclosed group "("')
        return "".join(self._out)

    def _step(self) -> None:
        char = self._take()
        match char:
            case "\\":
                self._out.append(self._escape(in_class=False))
            case "[":
                self._out.append(self._char_class())
            case "(":
                self._depth += 1
                self._out.append(self._group())
            case ")":
                self._depth -= 1
                if self._depth < 0:
                    raise NotJavaRegex('unmatched ")"')
                self._out.append(")")
            case "{":
                match = _QUANTIFIER.match(self._text, self._at - 1)
                if match is None:
                    raise NotJavaRegex("a { that begins no repetition must be written \\{")
                self._at = match.end()
                self._out.append(match.group())
            case _:
                self._out.append(char)

    def _take(self) -> str:
        char = self._text[self._at]
        self._at += 1
        return char

    def _escape(self, *, in_class: bool) -> str:
        if self._at == len(self._text):
            raise NotJavaRegex("it ends with a single backslash")
        char = self._take()
        if char == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at :] if end < 0 else self._text[self._at : end]
            self._at = len(self._text) if end < 0 else end + 2
            return "".join(re.escape(letter) for letter in quoted)
        if char in "pP":
            return self._property(char, in_class)
        if char == "x" or char == "u":
            digits = self._text[self._at : self._at + (2 if char == "x" else 4)]
            if not re.fullmatch(r"[0-9A-Fa-f]+", digits) or len(digits) != (2 if char == "x" else 4):
                raise NotJavaRegex(f"\\{char} must be followed by {2 if char == 'x' else 4} hexadecimal digits")
            self._at += len(digits)
            return f"\\{char}{digits}"
        if char == "k" and not in_class:
            match = re.compile(r"<([A-Za-z][A-Za-z0-9]*)>").match(self._text, self._at)
            if match is None:
                raise NotJavaRegex("\\k must be followed by <name>")
            self._at = match.end()
            return f"(?P={match.group(1)})"
        if char in _SAME:
            return f"\\{char}"
        if char in _PLACES and not in_class:
            return _PLACES[char]
        if char in "123456789" and not in_class:
            if self._text[self._at : self._at + 1].isdigit():
                raise NotJavaRegex(f"a digit after \\{char} may mean another group in Python: write (?:\\{char})")
            return f"\\{char}"
        if char.isalnum():
            raise NotJavaRegex(f"\\{char} is not supported: it means nothing, or not the same, in Python")
        return re.escape(char)

    def _property(self, char: str, in_class: bool) -> str:
        match = re.compile(r"\{(?:Is)?(\w+)\}").match(self._text, self._at)
        name = match.group(1) if match is not None else ""
        if match is None or name not in _POSIX or (char == "P" and in_class):
            raise NotJavaRegex(f"\\{char}{{...}} is supported only for {', '.join(_POSIX)}")
        self._at = match.end()
        if in_class:
            return _POSIX[name]
        return f"[{'^' if char == 'P' else ''}{_POSIX[name]}]"

    def _group(self) -> str:
        if not self._text.startswith("?", self._at):
            return "("
        for start in ("?:", "?=", "?!", "?<=", "?<!", "?>"):
            if self._text.startswith(start, self._at):
                self._at += len(start)
                return f"({start}"
        match = re.compile(r"\?<([A-Za-z][A-Za-z0-9]*)>").match(self._text, self._at)
        if match is not None:
            self._at = match.end()
            return f"(?P<{match.group(1)}>"
        match = re.compile(r"\?i([:)])").match(self._text, self._at)
        if match is not None and (match.group(1) == ":" or self._at == 1):
            self._at = match.end()
            self._depth -= match.group(1) == ")"
            return f"(?i{match.group(1)}"
        raise NotJavaRegex("the only supported flags are (?i) at the beginning and (?i:...)")

    def _char_class(self) -> str:
        out = ["["]
        if self._text.startswith("^", self._at):
            out.append("^")
            self._at += 1
        first = True
        while True:
            if self._at == len(self._text):
                raise NotJavaRegex('unclosed character class "["')
            char = self._take()
            if char == "]" and not first:
                return "".join([*out, "]"])
            if char == "[" or (char == "&" and self._text.startswith("&", self._at)):
                raise NotJavaRegex("a class within a class and && are not supported: write the characters out")
            if char == "\\":
                if out[-1] == "-" and out[-2:] not in (["[", "-"], ["^", "-"]) and self._text.startswith("p", self._at):
                    raise NotJavaRegex("a range cannot end with \\p{...}: write the - first in its class")
                out.append(self._escape(in_class=True))
            else:
                out.append("\\" + char if char in "]~|&" else char)
            first = False
