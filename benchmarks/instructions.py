"""How many instructions a raw request takes: ``python -m benchmarks.instructions "1 KB, 4 x 5"``.

Counted by valgrind's callgrind, outside of the kernel, in the broker's process alone: nearly the same each time on a
machine that is busy, as no time is. The cells are those of ``requests``.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from benchmarks.load import BenchmarkError, Frame, run_raw
from benchmarks.raw import Caller
from benchmarks.requests import CELLS, checked
from benchmarks.servers import Oncelog, running

TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


class Counted(Oncelog):
    """Our broker under callgrind, which counts nothing before it is told."""

    def command(self) -> list[str]:
        out = f"--callgrind-out-file={self.folder}/callgrind.out"
        return ["valgrind", "--tool=callgrind", "--instr-atstart=no", out, *super().command()]

    def count(self, on: bool) -> None:
        command = ["callgrind_control", "-i", "on" if on else "off", str(self.pid)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)

    def instructions(self) -> tuple[int, Path]:
        """Counted so far, once the process has ended; and where callgrind wrote of which function."""
        path = max(self.folder.glob("callgrind.out*"), key=lambda path: path.stat().st_size)
        return max((int(number) for number in TOTAL.findall(path.read_text())), default=0), path


def count(name: str, requests: int, keep: Path | None, properties: dict[str, str]) -> float:
    """Instructions a request of a cell (a transaction counts as one), over about so many requests."""
    server = Counted(properties=properties)
    with running(server):
        caller = Caller(server)
        load = CELLS[name](server, caller, requests / 5_000)
        scripts = [checked(caller, script, load) for script in load.scripts]
        each = max(load.per, requests * load.per // load.connections)

        def part(script: list[Frame], first: int) -> list[Frame]:
            return (script * each)[:each] if load.repeat else script[first : first + each]

        for first in (0, each):
            if first:
                server.count(on=True)
            measured = [part(script, first) for script in scripts]
            found = run_raw(
                caller.port, measured, load.connections, load.in_flight, 600, repeat=False, watched=load.watched
            )
            if found["errors"]:
                raise BenchmarkError(f"{found['errors']:.0f} answers tell errors")
        server.count(on=False)
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
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("instructions: ended by a signal"))  # so that brokers are stopped
    if shutil.which("valgrind") is None:
        print("valgrind is needed: it counts the instructions", file=sys.stderr)
        return 1
    for name in CELLS:
        if not arguments.cell or any(text in name for text in arguments.cell):
            properties = dict(item.split("=", 1) for item in arguments.set)
            print(f"{name}: {count(name, arguments.requests, arguments.keep, properties):,.0f}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
