"""Counts the instructions of a raw request: ``python -m benchmarks.instructions "1 KB, 4 x 5"``.

Valgrind's callgrind counts the instructions of the broker's process outside of the kernel. Unlike times, counts are
nearly the same in each run, even on a busy machine. The cells are those of ``requests``; counting begins when their
connections are open. ``--before FOLDER`` counts the broker of another checkout, too: counts differ with the machine and
its Python, so both counts must come from the same run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.load import BenchmarkError, Frame, run_raw
from benchmarks.raw import Caller
from benchmarks.requests import CELLS, checked
from benchmarks.servers import Oncelog, running

TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
NOTABLE_PERCENT = 5.0
"""A change of this many percent is shown as notable: two counts of the same build differ by less."""
FEWEST_OF_A_CONNECTION = 100
"""Fewest requests of each connection: the first one takes the general code path, whose cost must not affect the
figure."""


class Cell(NamedTuple):
    """Instructions per request: ``now`` of this broker, ``before`` of the broker of another checkout, None if it was
    not counted."""

    name: str
    now: float
    before: float | None

    @property
    def percent(self) -> float | None:
        """The growth from ``before`` to ``now`` in percent; None without ``before``."""
        return (self.now / self.before - 1) * 100 if self.before else None

    @property
    def is_notable(self) -> bool:
        return self.percent is not None and abs(self.percent) > NOTABLE_PERCENT

    def __str__(self) -> str:
        if self.percent is None:
            return f"{self.name}: {self.now:,.0f}"
        return f"{self.name}: {self.now:,.0f}, before {self.before:,.0f} ({self.percent:+.1f} %)"


class Counted(Oncelog):
    """Our broker under callgrind, which counts nothing until it is switched on.

    :param checkout: the checkout whose sources and compiled modules run; by default the installed ones.
    """

    def __init__(self, *, properties: Mapping[str, str] | None = None, checkout: Path | None = None) -> None:
        super().__init__(properties=properties)
        self._checkout = checkout

    def command(self) -> list[str]:
        sources = [] if self._checkout is None else ["env", f"PYTHONPATH={self._checkout.resolve() / 'src'}"]
        out = f"--callgrind-out-file={self.folder}/callgrind.out"
        return [*sources, "valgrind", "--tool=callgrind", "--instr-atstart=no", out, *super().command()]

    def count(self, on: bool) -> None:
        command = ["callgrind_control", "-i", "on" if on else "off", str(self.pid)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)

    def instructions(self) -> tuple[int, Path]:
        """The number of counted instructions, and callgrind's file that divides them among functions; call it after the
        process has ended."""
        path = max(self.folder.glob("callgrind.out*"), key=lambda path: path.stat().st_size)
        return max((int(number) for number in TOTAL.findall(path.read_text())), default=0), path


def count(
    name: str, requests: int, keep: Path | None, properties: Mapping[str, str], checkout: Path | None = None
) -> float:
    """The CPU instructions per request of one load, over about ``requests`` requests; a transaction counts as one."""
    server = Counted(properties=properties, checkout=checkout)
    with running(server):
        caller = Caller(server)
        load = CELLS[name](server, caller, requests / 2_500)
        scripts = [checked(caller, script, load) for script in load.scripts]
        each = load.per * max(requests // load.connections, FEWEST_OF_A_CONNECTION)
        if not load.repeat:
            each = min(each, len(scripts[0]) // 2 // load.per * load.per)

        def part(script: list[Frame], first: int) -> list[Frame]:
            return (script * each)[:each] if load.repeat else script[first : first + each]

        states = iter((False, False, True, False))

        def switch() -> float:
            """Switch counting on, then off: the load generator calls this when all connections are open, and when the
            load is over."""
            server.count(on=next(states))
            return 0.0

        for first in (0, each):
            measured = [part(script, first) for script in scripts]
            found = run_raw(
                caller.port,
                measured,
                load.connections,
                load.in_flight,
                600,
                repeat=False,
                watched=load.watched,
                cpu_s=switch,
            )
            if found["errors"]:
                raise BenchmarkError(f"{found['errors']:.0f} answers tell errors")
        caller.close()
        server.stop()
        instructions, path = server.instructions()
        if keep is not None:
            shutil.copy(path, keep)
    return instructions * load.per / (each * load.connections)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("cell", nargs="*", help="cells whose name holds one of these texts; default: all")
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the broker")
    parser.add_argument("--keep", type=Path, help="keep callgrind's output in this file")
    parser.add_argument(
        "--before", type=Path, metavar="FOLDER", help="a checkout, its modules compiled, to compare with"
    )
    parser.add_argument("--table", type=Path, metavar="FILE", help="the counts as Markdown")
    arguments = parser.parse_args()
    # exit by an exception, so that context managers stop the brokers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("instructions: ended by a signal"))
    if shutil.which("valgrind") is None:
        print("valgrind is needed: it counts the instructions", file=sys.stderr)
        return 1
    if arguments.before is not None and not (arguments.before / "src" / "oncelog").is_dir():
        print(f"{arguments.before} is no checkout: it has no src/oncelog", file=sys.stderr)
        return 1
    properties = dict(item.split("=", 1) for item in arguments.set)
    counted: list[Cell] = []
    for name in CELLS:
        if arguments.cell and not any(text in name for text in arguments.cell):
            continue
        try:
            now = count(name, arguments.requests, arguments.keep, properties)
            before = count(name, arguments.requests, None, properties, arguments.before) if arguments.before else None
        except (BenchmarkError, TimeoutError) as error:
            print(f"{name}: left out: {type(error).__name__} {error}", flush=True)
            continue
        counted.append(Cell(name, now, before))
        print(counted[-1], flush=True)
    if arguments.table is not None:
        arguments.table.write_text(table(counted))
    return 0


def table(cells: Sequence[Cell]) -> str:
    """The cells as rows of a Markdown table; notable changes are bold."""
    rows = ["| cell | thousand instructions | before | change |", "|---|---:|---:|---:|"]
    for cell in cells:
        change = "" if cell.percent is None else f"{cell.percent:+.1f} %"
        before = "" if cell.before is None else f"{cell.before / 1000:,.0f}"
        rows.append(
            f"| {cell.name} | {cell.now / 1000:,.0f} | {before} | {f'**{change}**' if cell.is_notable else change} |"
        )
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
