"""kafkajs, franz-go and kcat, unmodified, against our broker, of one node and of three, plain and over TLS with SCRAM:
`make interop` runs these.

Each client's flows are a program beside this file that prints what it saw as JSON; the expectations are here. The
clients come from their languages' registries into ``.cache/interop``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from oncelog import Broker
from tests.integration.security.certificates import Authority

HERE = Path(__file__).parent
CACHE = HERE.parents[3] / ".cache" / "interop"
MECHANISM, USER, PASSWORD = "SCRAM-SHA-256", "alice", "alice-secret"
FENCED = {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}

pytestmark = pytest.mark.external


class Reached(NamedTuple):
    """A broker as clients reach it."""

    servers: str
    environment: dict[str, str]
    """Tells the flows whom to trust and who they are."""
    librdkafka: tuple[str, ...]


@pytest.fixture(scope="module", params=["plain", "three nodes", "TLS and SCRAM"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    folder = tmp_path_factory.mktemp("data")
    settings: dict[str, str | int] = {"group.initial.rebalance.delay.ms": 0, "num.partitions": 2}
    if request.param != "TLS and SCRAM":
        with Broker(folder, settings=settings, nodes=1 if request.param == "plain" else 3) as broker:
            yield Reached(broker.bootstrap_servers, {}, ())
        return
    authority = Authority(folder)
    settings |= {
        "listeners": "SASL_SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("server").store),
        "sasl.enabled.mechanisms": MECHANISM,
    }
    users = [f"{MECHANISM}=[name={USER},password={PASSWORD}]"]
    trusted = str(authority.certificate)
    with Broker(folder / "broker", settings=settings, first_users=users) as broker:
        login = {"sasl.mechanism": MECHANISM, "sasl.username": USER, "sasl.password": PASSWORD}
        options = {"security.protocol": "SASL_SSL", "ssl.ca.location": trusted, **login}
        yield Reached(
            broker.bootstrap_servers,
            {"FLOWS_CA": trusted, "FLOWS_USER": USER, "FLOWS_PASSWORD": PASSWORD},
            tuple(part for name, value in options.items() for part in ("-X", f"{name}={value}")),
        )


def run(
    *command: str | Path,
    folder: Path | None = None,
    stdin: str | None = None,
    timeout_s: int = 300,
    more: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The standard output of a command that must succeed; ``more``: additional environment variables."""
    environment = {**os.environ, "GOFLAGS": "-mod=mod", **more}
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
    assert path, (
        f"`make interop` needs {tool}: install {package} (tests/compatibility/interop/run installs Debian's as root)"
    )
    return path


def kafkajs_module() -> Path:
    """A folder with kafkajs, fetched once."""
    npm, folder = needs("npm", "Node.js 18 or later"), CACHE / "kafkajs"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules" / "kafkajs").exists():
        run(npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", folder, "kafkajs@2.2")
    return folder


def franz_go_module() -> Path:
    """A Go module that requires franz-go, and what franz-go's own tests require."""
    go, folder = needs("go", "Go 1.24 or later"), CACHE / "franz-go"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "go.mod").exists():
        run(go, "mod", "init", "flows", folder=folder)
        run(go, "get", "-t", "github.com/twmb/franz-go/pkg/kgo@v1.22.2", folder=folder)
    return folder


@pytest.fixture(scope="module")
def kafkajs(broker: Reached) -> dict[str, Any]:
    """What kafkajs saw in each flow."""
    node, folder = needs("node", "Node.js 18 or later"), kafkajs_module()
    shutil.copy(HERE / "kafkajs_flows.js", folder)
    name = f"js-{uuid.uuid4().hex[:8]}"
    output = run(node, "kafkajs_flows.js", broker.servers, name, folder=folder, more=broker.environment)
    seen: dict[str, Any] = json.loads(output)
    return seen


@pytest.fixture(scope="module")
def franz_go(broker: Reached) -> dict[str, Any]:
    """What franz-go saw in each flow."""
    go, folder = needs("go", "Go 1.24 or later"), franz_go_module()
    shutil.copy(HERE / "franz_flows.go", folder / "main.go")
    run(go, "build", "-o", "flows", ".", folder=folder)
    name = f"go-{uuid.uuid4().hex[:8]}"
    output = run(folder / "flows", broker.servers, name, folder=folder, more=broker.environment)
    seen: dict[str, Any] = json.loads(output)
    return seen


@pytest.fixture(scope="module", params=["kafkajs", "franz_go"])
def seen(request: pytest.FixtureRequest, broker: Reached) -> dict[str, Any]:
    flows: dict[str, Any] = request.getfixturevalue(request.param)
    return flows


def test_idempotent_records_arrive_once(seen: dict[str, Any]) -> None:
    assert seen["idempotent_produce"] == ["0", "1", "2", "3", "4"]


def test_group_shares_partitions_and_survivor_takes_all(seen: dict[str, Any]) -> None:
    assert seen["rebalance"] in (4, [0, 1, 2, 3])


def test_an_eager_group_of_franz_go_rebalances(franz_go: dict[str, Any]) -> None:
    assert franz_go["rebalance_eager"] == 4


def test_read_committed_consumer_reads_only_committed_transactions(seen: dict[str, Any]) -> None:
    assert seen["transactions"] == {"committed": ["committed", "last"], "all": ["aborted", "committed", "last"]}


def test_consume_transform_produce_commits_offsets_with_its_output(seen: dict[str, Any]) -> None:
    assert seen["consume_transform_produce"] == {"out": ["A", "B"], "offset": 2}


def test_zombie_is_fenced_and_its_records_stay_invisible(seen: dict[str, Any]) -> None:
    assert seen["zombie"]["fenced"] in FENCED
    assert seen["zombie"]["committed"] == ["fresh"]


def test_kcat_produces_lists_and_consumes(broker: Reached) -> None:
    kcat = needs("kcat", "kcat")
    topic = f"kcat-{uuid.uuid4().hex[:8]}"
    at = ("-b", broker.servers, *broker.librdkafka)
    run(kcat, *at, "-P", "-t", topic, "-K", ":", "-X", "enable.idempotence=true", "-z", "lz4", stdin="a:1\nb:2\nc:3\n")
    listed = json.loads(run(kcat, *at, "-L", "-J", "-t", topic))
    assert [t["topic"] for t in listed["topics"]] == [topic]
    read = run(kcat, *at, "-C", "-t", topic, "-e", "-q", "-f", "%k=%s\n", "-o", "beginning")
    assert sorted(read.split()) == ["a=1", "b=2", "c=3"]
    group = run(
        kcat, *at, "-G", f"{topic}-group", "-c", "3", "-q", "-f", "%s\n", "-X", "auto.offset.reset=earliest", topic
    )
    assert sorted(group.split()) == ["1", "2", "3"]
