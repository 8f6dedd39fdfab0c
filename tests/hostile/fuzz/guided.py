"""One target under atheris, in a process of its own: libFuzzer chooses inputs by the code that they reach."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from random import Random

import atheris

with atheris.instrument_imports(include=["oncelog"]):
    from tests.hostile.fuzz.targets import TARGETS

NEW_INPUTS = 0.1
"""The share of inputs that are generated, if the target can; the others are changes of the corpus."""


def fuzz(name: str, flags: Sequence[str]) -> None:
    """Fuzz until libFuzzer's flags end it or an input breaks the target; ends the process."""
    (target,) = (target for target in TARGETS if target.name == name)
    generate = target.generate

    def changed(data: bytes, max_bytes: int, seed: int) -> bytes:
        random = Random(seed)
        if generate is not None and random.random() < NEW_INPUTS:
            return generate(random)[:max_bytes]
        return bytes(atheris.Mutate(data, max_bytes))

    atheris.Setup([sys.argv[0], *flags], target.run, custom_mutator=changed)
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv[1], sys.argv[2:])
