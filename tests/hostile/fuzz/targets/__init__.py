"""Every target, in the order in which the long form takes them."""

from __future__ import annotations

from tests.hostile.fuzz.targets import files, pieces, records, texts, wire

TARGETS = [*records.TARGETS, *wire.TARGETS, *pieces.TARGETS, *files.TARGETS, *texts.TARGETS]
