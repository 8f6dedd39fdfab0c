"""What is fuzzed: a function that takes any bytes and raises only where the code under test breaks a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

CORPUS = Path(__file__).parent / "corpus"
FOUND = CORPUS / "found"
MOST_BYTES = 16 * 1024


@dataclass(frozen=True)
class Target:
    """One thing that takes bytes from others.

    :param run: feeds one input; an exception, or a failed ``assert``, is a finding.
    :param seeds: sound inputs, the same ones at each call; ``python -m tests.fuzz --write-corpus`` keeps them.
    :param generate: a new sound input, where bytes alone rarely get deep enough.
    :param tokens: words of its language.
    :param short: inputs of the short form, in `make test`.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    generate: Callable[[Random], bytes] | None = None
    tokens: tuple[bytes, ...] = ()
    short: int = 2000

    @property
    def path(self) -> Path:
        return CORPUS / f"{self.name}.hex"

    @property
    def found_path(self) -> Path:
        """Inputs that once broke it, each with a line that says what it broke."""
        return FOUND / f"{self.name}.hex"

    @cached_property
    def corpus(self) -> list[bytes]:
        return read_inputs(self.path) + read_inputs(self.found_path)

    def write_corpus(self) -> None:
        inputs = sorted(set(self.seeds()), key=lambda data: (len(data), data))
        self.path.write_text("".join(f"{data.hex()}\n" for data in inputs))


def read_inputs(path: Path) -> list[bytes]:
    """One input a line, in hexadecimal; a line that begins with # is a remark."""
    if not path.exists():
        return []
    return [bytes.fromhex(line) for line in path.read_text().splitlines() if not line.startswith("#")]


def said(refusal: Exception, secret: str = "") -> None:
    """A refusal says something, and never a secret."""
    text = str(refusal)
    assert text
    assert not secret or secret not in text
