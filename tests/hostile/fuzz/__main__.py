"""The long form: ``python -m tests.hostile.fuzz --seconds 60`` for each target, one process, progress and a count of
inputs.

Guided by coverage if atheris is installed, else (or with ``--blind``) by changes drawn from a seed. An input that
breaks a target is written to ``tests/hostile/fuzz/corpus/found``, and the short form runs it from then on.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from tests.hostile.fuzz.target import FOUND, MAX_BYTES, Target
from tests.hostile.fuzz.targets import TARGETS

MAX_MEGABYTES = 2048
MAX_SECONDS_FOR_ONE = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--runs", type=int, default=0, help="inputs for each target; 0: as many as the time allows")
    parser.add_argument("--only", choices=[target.name for target in TARGETS], action="append")
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--blind", action="store_true", help="without coverage, even where atheris is installed")
    parser.add_argument("--write-corpus", action="store_true", help="write the corpus again from its makers, and end")
    arguments = parser.parse_args()
    chosen = [target for target in TARGETS if not arguments.only or target.name in arguments.only]
    if arguments.write_corpus:
        for target in chosen:
            target.write_corpus()
        return 0
    seed = arguments.seed or int(time.time())
    guided = find_spec("atheris") is not None and not arguments.blind
    print(f"seed {seed}, {'guided by coverage' if guided else 'blind'}", flush=True)
    failed, total = 0, 0
    for target in chosen:
        run = run_guided if guided else run_blind
        count, fine = run(target, seed, arguments.seconds, arguments.runs)
        print(f"{target.name}: {count:,} inputs, {'nothing found' if fine else 'FAILED'}", flush=True)
        total, failed = total + count, failed + (not fine)
    print(f"{total:,} inputs in all", flush=True)
    return 1 if failed else 0


def run_blind(target: Target, seed: int, seconds: int, runs: int) -> tuple[int, bool]:
    """Fuzz in this process for the given time or number of inputs; shows progress every ten seconds."""
    from tests.hostile.fuzz.blind import KEPT, find, inputs, report

    started = printed = time.monotonic()
    count, slowest = 0, 0.0
    source = inputs(target, seed)
    while True:
        batch = list(islice(source, KEPT))
        began = time.thread_time()
        finding = find(target, batch)
        count += len(batch)
        if finding is not None:
            report(finding)
            _keep(target, finding.sequence, repr(finding.error))
            return count, False
        slowest = max(slowest, time.thread_time() - began)
        now = time.monotonic()
        if now - printed >= 10:
            printed = now
            print(f"  {target.name}: {count:,} inputs, the slowest {KEPT} took {slowest:.1f} s", flush=True)
        if now - started >= seconds or (runs and count >= runs):
            return count, True


def run_guided(target: Target, seed: int, seconds: int, runs: int) -> tuple[int, bool]:
    """Fuzz in a process of its own, which libFuzzer ends at the first finding."""
    with tempfile.TemporaryDirectory(prefix="oncelog-fuzz-") as folder:
        corpus, crash = Path(folder, "corpus"), Path(folder, "crash")
        corpus.mkdir()
        for number, data in enumerate(target.corpus):
            (corpus / f"{number:05}").write_bytes(data)
        command = [
            *(sys.executable, "-m", "tests.hostile.fuzz.guided", target.name, str(corpus)),
            *(f"-seed={seed % 2**31}", f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-print_final_stats=1"),
            *(f"-timeout={MAX_SECONDS_FOR_ONE}", f"-rss_limit_mb={MAX_MEGABYTES}", f"-exact_artifact_path={crash}"),
            *([f"-runs={runs}"] if runs else []),
        ]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        count = _follow(target, process)
        fine = process.wait() == 0
        if crash.exists():
            _keep(target, (crash.read_bytes(),), "found by coverage-guided fuzzing")
        return count, fine


def _follow(target: Target, process: subprocess.Popen[str]) -> int:
    """Show progress and everything else except libFuzzer's own chatter; returns the number of inputs."""
    count, printed = 0, time.monotonic()
    assert process.stdout is not None
    for line in process.stdout:
        progress = re.match(r"#(\d+)\t", line)
        final = re.match(r"stat::number_of_executed_units: (\d+)", line)
        if progress or final:
            count = max(count, int((progress or final)[1]))  # type: ignore[index]
            if time.monotonic() - printed >= 10:
                printed = time.monotonic()
                print(f"  {target.name}: {count:,} inputs", flush=True)
        elif not line.startswith(("INFO:", "stat::", "NEW_FUNC", "WARNING:", "Done ")):
            print(f"  {line}", end="", flush=True)
    return count


def _keep(target: Target, sequence: tuple[bytes, ...], remark: str) -> None:
    FOUND.mkdir(exist_ok=True)
    with target.found_path.open("a") as file:
        file.write(f"# {remark.splitlines()[0][:150]}\n{','.join(data.hex() for data in sequence)}\n")
    print(f"  kept in {target.found_path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
