"""kafkajs, franz-go and kcat, unmodified, against our broker: `make interop` runs these.

Each client's flows are a program beside this file that prints what it saw as JSON; the expectations are here. The
clients come from their languages' registries into ``.cache/interop``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oncelog import Broker

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".cache" / "interop"
FENCED = {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}

pytestmark = pytest.mark.external


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    data = tmp_path_factory.mktemp("data")
    with Broker(data, settings={"group.initial.rebalance.delay.ms": 0, "num.partitions": 2}) as broker:
        yield broker


def run(*command: str | Path, folder: Path | None = None, stdin: str | None = None, timeout_s: int = 300) -> str:
    """The standard output of a command that must succeed."""
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def needs(tool: str, package: str) -> str:
    path = shutil.which(tool)
    assert path, f"`make interop` needs {tool}: install {package} (tests/interop/run installs Debian's as root)"
    return path


@pytest.fixture(scope="module")
def kafkajs(broker: Broker) -> dict[str, Any]:
    """What kafkajs saw in each flow."""
    npm, node = needs("npm", "Node.js 18 or later"), needs("node", "Node.js 18 or later")
    folder = CACHE / "kafkajs"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules" / "kafkajs").exists():
        run(npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", folder, "kafkajs@2.2")
    shutil.copy(HERE / "kafkajs_flows.js", folder)
    output = run(node, "kafkajs_flows.js", broker.bootstrap_servers, f"js-{uuid.uuid4().hex[:8]}", folder=folder)
    seen: dict[str, Any] = json.loads(output)
    return seen


@pytest.fixture(scope="module")
def franz_go(broker: Broker) -> dict[str, Any]:
    """What franz-go saw in each flow."""
    go = needs("go", "Go 1.24 or later")
    folder = CACHE / "franz-go"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "franz_flows.go", folder / "main.go")
    if not (folder / "go.mod").exists():
        run(go, "mod", "init", "flows", folder=folder)
        run(go, "get", "github.com/twmb/franz-go@v1.22.2", folder=folder)
    run(go, "build", "-o", "flows", ".", folder=folder)
    output = run(folder / "flows", broker.bootstrap_servers, f"go-{uuid.uuid4().hex[:8]}", folder=folder)
    seen: dict[str, Any] = json.loads(output)
    return seen


@pytest.fixture(scope="module", params=["kafkajs", "franz_go"])
def seen(request: pytest.FixtureRequest) -> dict[str, Any]:
    flows: dict[str, Any] = request.getfixturevalue(request.param)
    return flows


def test_idempotent_records_arrive_once(seen: dict[str, Any]) -> None:
    assert seen["idempotent_produce"] == ["0", "1", "2", "3", "4"]


def test_group_shares_partitions_and_survivor_takes_all(seen: dict[str, Any]) -> None:
    assert seen["rebalance"] in (4, [0, 1, 2, 3])


def test_eager_group_of_franz_go_rebalances_too(franz_go: dict[str, Any]) -> None:
    assert franz_go["rebalance_eager"] == 4


def test_read_committed_sees_committed_transactions_only(seen: dict[str, Any]) -> None:
    assert seen["transactions"] == {"committed": ["committed", "last"], "all": ["aborted", "committed", "last"]}


def test_consume_transform_produce_commits_offsets_with_its_output(seen: dict[str, Any]) -> None:
    assert seen["consume_transform_produce"] == {"out": ["A", "B"], "offset": 2}


def test_zombie_is_fenced_and_its_records_stay_invisible(seen: dict[str, Any]) -> None:
    assert seen["zombie"]["fenced"] in FENCED
    assert seen["zombie"]["committed"] == ["fresh"]


def test_kcat_produces_lists_and_consumes(broker: Broker) -> None:
    kcat = needs("kcat", "kcat")
    topic = f"kcat-{uuid.uuid4().hex[:8]}"
    at = ("-b", broker.bootstrap_servers)
    run(kcat, *at, "-P", "-t", topic, "-K", ":", "-X", "enable.idempotence=true", "-z", "lz4", stdin="a:1\nb:2\nc:3\n")
    listed = json.loads(run(kcat, *at, "-L", "-J", "-t", topic))
    assert [t["topic"] for t in listed["topics"]] == [topic]
    read = run(kcat, *at, "-C", "-t", topic, "-e", "-q", "-f", "%k=%s\n", "-o", "beginning")
    assert sorted(read.split()) == ["a=1", "b=2", "c=3"]
    group = run(
        kcat, *at, "-G", f"{topic}-group", "-c", "3", "-q", "-f", "%s\n", "-X", "auto.offset.reset=earliest", topic
    )
    assert sorted(group.split()) == ["1", "2", "3"]
