"""The walk of a batch from the socket to the file is the one that docs/internals/appending.md names."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import oncelog
from oncelog.apps.conformance.raw.batches import batch
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server.disk.os_disk import OsFile

ROOT = Path(__file__).parents[5]
PAGE = ROOT / "docs" / "internals" / "appending.md"
MAX_STEPS = 20


def named() -> list[list[str]]:
    """The functions of both numbered lists."""
    section = PAGE.read_text().partition("## The walk of a batch")[2].partition("\n## ")[0]
    steps = re.findall(r"^(\d+)\. `([A-Za-z_.]+)`", section, re.MULTILINE)
    walks: list[list[str]] = []
    for number, name in steps:
        if number == "1":
            walks.append([])
        walks[-1].append(name.rpartition(".")[2])
        assert int(number) == len(walks[-1])
    return walks


def test_the_page_names_each_function_that_a_produce_request_passes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks: list[list[str]] = []
    append = OsFile.append

    def recording(file: OsFile, buffers: Any) -> None:
        frame, names = sys._getframe(1), ["append"]
        while frame is not None and "oncelog" in frame.f_code.co_filename:
            names.append(frame.f_code.co_name)
            if frame.f_code.co_name == "buffer_updated":
                stacks.append(names[::-1])
                break
            frame = frame.f_back  # type: ignore[assignment]
        append(file, buffers)

    with oncelog.Broker(tmp_path) as broker, RawConnection(broker.bootstrap_servers) as client:
        client.create_topic("t")
        monkeypatch.setattr(OsFile, "append", recording)
        for _ in range(2):
            client.produce("t", batch(b"v"))
    assert stacks == named()
    assert max(map(len, stacks)) <= MAX_STEPS
