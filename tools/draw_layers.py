"""Draw ``docs/assets/layers.svg`` from the layers contract in ``pyproject.toml``; ``--check`` compares."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DIAGRAM: Final = ROOT / "docs" / "assets" / "layers.svg"
WIDTH, ROW, GAP = 640, 34, 6
ROLES: Final = {
    "testing": "what users get for their tests",
    "cli": "commands",
    "apps": "programs beside the product: console, verify, mirror, demo and others",
    "spark": "source, sink, pipelines",
    "embedded": "oncelog.Broker, with faults on request",
    "client.blocking": "blocking face",
    "client.aio": "asyncio shell of the client",
    "broker": "core, coordinators, log, server",
    "settings": "under Kafka's property names",
    "schemas": "Avro, JSON Schema, Protobuf",
    "runtime": "clocks, ports, timers, forks",
    "schema_registry": "Confluent's REST API",
    "aiokafka": "aiokafka's names",
    "atomic": "rows and records, both or neither",
    "client.core": "pure: batching, transactions, groups",
    "protocol": "generated codecs, framing",
    "records": "record batches, compression, CRC",
}


def main() -> int:
    diagram = "\n".join([*_diagram(_layers()), ""])
    if "--check" in sys.argv[1:]:
        if DIAGRAM.exists() and DIAGRAM.read_text() == diagram:
            return 0
        sys.stderr.write(f"{DIAGRAM} is out of date: run python tools/draw_layers.py\n")
        return 1
    DIAGRAM.parent.mkdir(parents=True, exist_ok=True)
    DIAGRAM.write_text(diagram)
    return 0


def _layers() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip(" ()") for name in layer.split("|")] for layer in layers]


def _diagram(layers: list[list[str]]) -> Iterator[str]:
    height = len(layers) * (ROW + GAP) + GAP
    box = f'viewBox="0 0 {WIDTH} {height}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="Layers of the code">'
    yield (
        "<style>rect{fill:#e6f2f1;stroke:#00796b}text{font:13px system-ui,sans-serif;fill:#10302d}"
        ".role{font-size:11px;fill:#3d5f5b}@media(prefers-color-scheme:dark){rect{fill:#12302d}text{fill:#e0f2f1}"
        ".role{fill:#a7c9c5}}</style>"
    )
    for row, names in enumerate(layers):
        y = GAP + row * (ROW + GAP)
        width = (WIDTH - GAP * (len(names) + 1)) / len(names)
        for column, name in enumerate(names):
            x = GAP + column * (width + GAP)
            role = ROLES.get(name, "")
            yield f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="4"/>'
            yield f'<text x="{x + 10:.0f}" y="{y + 21}">{name}<tspan class="role" dx="10">{role}</tspan></text>'
    yield "</svg>"


if __name__ == "__main__":
    sys.exit(main())
