"""What is fuzzed: a function that takes any bytes and raises only if the code under test breaks a promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Protocol

CORPUS = Path(__file__).parent / "corpus"
FOUND = CORPUS / "found"
MAX_BYTES = 16 * 1024


class Session(Protocol):
    """One broker, or two, that inputs are fed to; an exception or a failed ``assert`` is a finding."""

    def feed(self, data: bytes) -> None: ...

    def end(self) -> None:
        """Stop, and check that everything is as it should be."""


class Single:
    """The session of a target that keeps nothing between inputs."""

    def __init__(self, run: Callable[[bytes], None]) -> None:
        self.feed = run

    def end(self) -> None:
        """Nothing needs ending."""


@dataclass(frozen=True)
class Target:
    """One thing that takes bytes from others.

    :param session: begins again; the long form feeds it many inputs, so that brokers need not start for each.
    :param seeds: sound inputs, the same ones at each call; ``python -m tests.hostile.fuzz --write-corpus`` keeps them.
    :param generate: a new sound input, where bytes alone rarely get deep enough.
    :param tokens: words of its language.
    :param short: inputs of the short form, in `make test`.
    """

    name: str
    session: Callable[[], Session]
    seeds: Callable[[], Iterable[bytes]]
    generate: Callable[[Random], bytes] | None = None
    tokens: tuple[bytes, ...] = ()
    short: int = 2000

    def run(self, *sequence: bytes) -> None:
        """Feed these inputs to a new session."""
        session = self.session()
        for data in sequence:
            session.feed(data)
        session.end()

    @property
    def path(self) -> Path:
        return CORPUS / f"{self.name}.hex"

    @property
    def found_path(self) -> Path:
        """Inputs that once broke the target, each with a line that says what it broke."""
        return FOUND / f"{self.name}.hex"

    @cached_property
    def corpus(self) -> list[bytes]:
        return [data for sequence in read_inputs(self.path) + read_inputs(self.found_path) for data in sequence]

    def write_corpus(self) -> None:
        inputs = sorted(set(self.seeds()), key=lambda data: (len(data), data))
        self.path.write_text("".join(f"{data.hex()}\n" for data in inputs))


def read_inputs(path: Path) -> list[tuple[bytes, ...]]:
    """One sequence of inputs per line, in hexadecimal and separated by commas; a line that begins with # is a
    comment.
    """
    if not path.exists():
        return []
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [tuple(map(bytes.fromhex, line.split(","))) for line in lines]


def printed(refusal: Exception, secret: str = "") -> None:
    """A refusal has a message, and the message contains no secret."""
    text = str(refusal)
    assert text
    assert not secret or secret not in text


def one_at_a_time(run: Callable[[bytes], None]) -> Callable[[], Session]:
    """The session of a target that keeps nothing between inputs."""
    return lambda: Single(run)
