"""Inputs from a seed: first the corpus, then changed and, if the target can generate them, new inputs."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from tests.hostile.fuzz.mutation import mutated
from tests.hostile.fuzz.target import MAX_BYTES, Target

NEW_INPUTS = 0.25


KEPT = 250
"""How many inputs one session takes."""


class Finding(NamedTuple):
    target: Target
    sequence: tuple[bytes, ...]
    error: Exception


def find(target: Target, batch: Sequence[bytes]) -> Finding | None:
    """Feed all inputs to one session; returns what broke it, made as short as a few tries allow."""
    session = target.session()
    fed: list[bytes] = []
    try:
        for data in batch:
            fed.append(data)
            session.feed(data)
        session.end()
    except Exception as error:  # noqa: BLE001 - any exception is what is looked for
        shortest = _shortened(target, fed)
        return Finding(target, shortest, _failure(target, shortest) or error)
    return None


def _failure(target: Target, sequence: Sequence[bytes]) -> Exception | None:
    try:
        target.run(*sequence)
    except Exception as error:  # noqa: BLE001 - as above
        return error
    return None


def _shortened(target: Target, fed: Sequence[bytes]) -> tuple[bytes, ...]:
    """The last input alone if that is enough, else the inputs without every part that is not needed."""
    if _failure(target, fed[-1:]) is not None:
        return (fed[-1],)
    left, size = list(fed), max(1, len(fed) // 2)
    while True:
        start = 0
        while start < len(left):
            fewer = left[:start] + left[start + size :]
            if _failure(target, fewer) is not None:
                left = fewer
            else:
                start += size
        if size == 1:
            return tuple(left)
        size //= 2


def inputs(target: Target, seed: int) -> Iterator[bytes]:
    """An endless stream; the same for the same seed and corpus."""
    corpus = target.corpus
    yield from corpus
    random = Random(f"{target.name} {seed}")
    while True:
        if target.generate is not None and random.random() < NEW_INPUTS:
            yield target.generate(random)
        else:
            yield mutated(random, random.choice(corpus), corpus, target.tokens, MAX_BYTES)


def report(finding: Finding) -> None:
    traceback.print_exception(finding.error, file=sys.stdout)
    print(
        f"  {finding.target.name} was broken by {len(finding.sequence)} inputs, {finding.sequence[-1][:200].hex()}",
        flush=True,
    )
