"""Inputs from a seed: the corpus first, then changes of it, and new ones where the target can make them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from tests.fuzz.mutation import mutated
from tests.fuzz.target import MOST_BYTES, Target

NEW_INPUTS = 0.25


class Finding(NamedTuple):
    target: Target
    data: bytes
    error: Exception


def inputs(target: Target, seed: int) -> Iterator[bytes]:
    """Without end; the same for the same seed and corpus."""
    corpus = target.corpus
    yield from corpus
    random = Random(f"{target.name} {seed}")
    while True:
        if target.generate is not None and random.random() < NEW_INPUTS:
            yield target.generate(random)
        else:
            yield mutated(random, random.choice(corpus), corpus, target.tokens, MOST_BYTES)


def tell(finding: Finding) -> None:
    traceback.print_exception(finding.error, file=sys.stdout)
    print(f"  {finding.target.name} was broken by {finding.data[:200].hex()}", flush=True)
