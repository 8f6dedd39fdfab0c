"""The worker of a share group in Go that the page shows, with franz-go, unmodified: `make interop` runs it."""

from __future__ import annotations

import uuid

import pytest

from oncelog import Broker
from tests.compatibility.interop.external.test_external_clients import franz_go_module, needs, run
from tests.support.share_recipes import EXPECTED, printed_by_worker, recipe

pytestmark = pytest.mark.external


def test_the_documented_go_worker_runs() -> None:
    go, folder = needs("go", "Go 1.24 or later"), franz_go_module()
    program = folder / "worker"
    program.mkdir(exist_ok=True)
    (program / "main.go").write_text(recipe("go"))
    run(go, "build", "-o", "worker/worker", "./worker", folder=folder)
    with Broker() as broker:
        assert (
            printed_by_worker([program / "worker"], broker.bootstrap_servers, f"go-{uuid.uuid4().hex[:8]}") == EXPECTED
        )
