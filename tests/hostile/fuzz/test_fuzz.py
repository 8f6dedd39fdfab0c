"""The short form of `make fuzz`: a few seconds for each target from one seed, and every input that once broke one."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.hostile.fuzz.blind import KEPT, find, inputs
from tests.hostile.fuzz.target import CORPUS, Target, read_inputs
from tests.hostile.fuzz.targets import TARGETS

SEED = 1


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_generated_input_breaks_a_target(target: Target) -> None:
    source = inputs(target, SEED)
    for _ in range(0, target.short, KEPT):
        finding = find(target, list(islice(source, KEPT)))
        if finding is not None:
            finding.error.add_note(f"the inputs: {[data.hex() for data in finding.sequence]}")
            raise finding.error


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_inputs_that_once_broke_a_target_pass(target: Target) -> None:
    for sequence in read_inputs(target.found_path):
        target.run(*sequence)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_corpus_equals_the_output_of_its_generators(target: Target) -> None:
    """If it fails, the corpus is older than its generators: `python -m tests.hostile.fuzz --write-corpus` writes it
    again.
    """
    assert [data for (data,) in read_inputs(target.path)] == sorted(
        set(target.seeds()), key=lambda data: (len(data), data)
    )


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for path in CORPUS.rglob("*.hex")) < 1_000_000
