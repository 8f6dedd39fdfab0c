"""Every target, in the order in which the long form takes them."""

from __future__ import annotations

from tests.fuzz.targets import files, records, texts, wire

TARGETS = [*records.TARGETS, *wire.TARGETS, *files.TARGETS, *texts.TARGETS]
