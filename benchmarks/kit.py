"""Measures the cost of faults and nodes for a broker that uses neither, by comparing the normal broker with one whose
code has no checks for them.

    python -m benchmarks --only kit [--quick]

The second broker runs the same code, but its checks on a request's path are removed from the source before it is
compiled. ``serve --faults`` without active faults is measured too, where the checks may cost something.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median

from benchmarks.measures import Figures
from benchmarks.raw import Caller
from benchmarks.requests import CELLS, cell
from benchmarks.servers import Oncelog, free_port, running

CELLS_TAKEN = ("produce 1 KB, 4 x 5", "produce 1 KB, 1 x 1")
QUESTIONS = {
    "        if self.interceptor is None or not self.interceptor.takes(channel, slot, frame, now_ms):\n"
    "            self.handle(channel, slot, frame, now_ms)\n": "        self.handle(channel, slot, frame, now_ms)\n",
    "        if self.cluster is not None or self.interceptor is not None:\n            return": (
        "        if False:\n            return"
    ),
}
"""The checks that ``oncelog.broker.core.broker`` makes for each request, each with the code that replaces it."""

_WITHOUT = f"""
import importlib.util, sys
spec = importlib.util.find_spec("oncelog.broker.core.broker")
text = open(spec.origin, encoding="utf-8").read()
for question, instead in {QUESTIONS!r}.items():
    assert question in text, question
    text = text.replace(question, instead)
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(text, spec.origin, "exec"), module.__dict__)
sys.modules["oncelog.broker.core"].broker = module
from oncelog.cli.main import main
main()
"""


class Kitless(Oncelog):
    """The broker without the checks in :data:`QUESTIONS`."""

    def __init__(self) -> None:
        super().__init__("none")
        self.name = "oncelog, no kit in the code"

    def command(self) -> list[str]:
        return [sys.executable, "-c", _WITHOUT, *super().command()[3:]]


class Kitted(Oncelog):
    """``oncelog serve`` with these further options, for example ``--faults``."""

    def __init__(self, name: str, *options: str) -> None:
        super().__init__("none")
        self.name = f"oncelog {name}".strip()
        self._options = options

    def command(self) -> list[str]:
        return [*super().command(), *self._options]


def costs(rounds: int, add: Callable[[str, Figures], None], *, quick: bool) -> None:
    """Measure short cells on all servers in each round, in rotating order, so that a drift of the machine's speed
    affects all of them."""
    kitless, plain = Kitless(), Kitted("as it is")
    servers = [kitless, plain, Kitted("serve --faults", "--faults", f"127.0.0.1:{free_port()}")]
    seconds, turns = (0.5, 2) if quick else (1.0, 8)
    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(running(server))
        for name in CELLS_TAKEN:
            used: dict[str, list[float]] = {server.name: [] for server in servers}
            for number in range(rounds * turns):
                at = number % len(servers)
                for server in servers[at:] + servers[:at]:
                    caller = Caller(server)
                    figures = cell(server, caller, seconds, name, CELLS[name])
                    caller.close()
                    used[server.name].append(figures[f"{name}: broker CPU us"])
                    add(server.name, figures)
            for server in servers[1:]:
                ratios = [mine / bare for bare, mine in zip(used[kitless.name], used[server.name], strict=True)]
                add(server.name, {f"{name}: CPU to that without the kit, median of turns": median(ratios)})
