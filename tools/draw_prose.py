"""Draw a random sample of docstrings, comments, messages and test names, for a reader who sees them without context.

python -m tools.draw_prose --seed 7 --count 60    60 of each kind, with file and line

A reader marks sentences that a native engineer does not understand at first reading. The author does not choose the
sentences, so a sample represents the rest.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CODE: Final = ("src", "tools", "benchmarks")
MIN_WORDS: Final = 4
"""The minimum number of words of a comment or message in the sample; shorter ones are labels."""

Place = tuple[str, str]
"""The place of a text (``file:line``), and the text on one line."""


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if "generated" not in path.parts)


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def docstrings() -> Iterator[Place]:
    """Docstrings of modules, classes and functions, and the strings below constants and fields."""
    for path in sources(*CODE):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Expr(value=ast.Constant(value=str(text)), lineno=line):
                    yield place(path, line), " ".join(text.split())


def comments() -> Iterator[Place]:
    """All comments: consecutive lines as one text, and each comment behind code. Directives of tools are left out."""
    for path in sources(*CODE):
        block: list[str] = []
        first = last = 0
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
            if token.type != tokenize.COMMENT:
                continue
            text, line = token.string.lstrip("#").strip(), token.start[0]
            if text.startswith(("type:", "noqa", "pragma", "fmt:", "---", "!/")):
                continue
            is_alone = token.line.lstrip().startswith("#")
            if block and (line != last + 1 or not is_alone):
                yield place(path, first), " ".join(block)
                block = []
            first = line if not block else first
            block.append(text)
            last = line if is_alone else 0
        if block:
            yield place(path, first), " ".join(block)


def messages() -> Iterator[Place]:
    """Texts that the package raises, logs or prints; placeholders stand in braces."""
    for path in sources("src"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        passed = [
            argument
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]
        ]
        for argument in passed:
            text = _text(argument)
            if not any(sign in text for sign in ("SELECT ", "\\", "    ")):
                yield place(path, argument.lineno), text


def _text(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(
                f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else ast.literal_eval(part)
                for part in values
            )
    return ""


def test_names() -> Iterator[Place]:
    for path in sources("tests"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.FunctionDef(name=name, lineno=line) | ast.AsyncFunctionDef(name=name, lineno=line):
                    if name.startswith("test_"):
                        yield place(path, line), name


KINDS: Final = {"docstrings": docstrings, "comments": comments, "messages": messages, "test names": test_names}


def drawn(kind: str, count: int, seed: int) -> list[Place]:
    """``count`` texts of a kind, or all if there are fewer; the same for the same seed and tree."""
    texts = [entry for entry in KINDS[kind]() if kind == "test names" or len(entry[1].split()) >= MIN_WORDS]
    return sorted(random.Random(f"{seed} {kind}").sample(texts, min(count, len(texts))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=60)
    arguments = parser.parse_args()
    for kind in KINDS:
        print(f"\n## {kind}\n")
        for number, (where, text) in enumerate(drawn(kind, arguments.count, arguments.seed), 1):
            print(f"{number:3}. {text}\n     {where}")


if __name__ == "__main__":
    main()
