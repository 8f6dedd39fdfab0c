"""``python -m tests.support.crash_rounds``: many rounds, a progress bar, and figures at the end."""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tests.support.crash_rounds.rounds import ROUNDS_A_FOLDER, FailedRound, Figures, run_rounds


@click.command()
@click.option("--rounds", default=500, show_default=True, help="Kills (or now and then clean stops) in all.")
@click.option("--seed", type=int, help="What is drawn; default: a new one, printed.")
@click.option("--rounds-a-folder", default=ROUNDS_A_FOLDER, show_default=True, help="Then a new data folder is begun.")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where data folders are made; default: a temporary one."
)
def command(rounds: int, seed: int | None, rounds_a_folder: int, folder: Path | None) -> None:
    """Kill the broker under mixed load, damage its files, start it again, and prove that nothing was lost."""
    console = Console()
    seed = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    place = folder or Path(tempfile.mkdtemp(prefix="oncelog-crash-rounds-"))
    console.print(f"seed {seed}, {rounds} rounds, data below {place}")
    figures = Figures()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("rounds", total=rounds)

        def progress() -> None:
            bar.update(task, completed=figures.rounds)
            if not console.is_terminal and figures.rounds % rounds_a_folder == 0:
                console.print(f"{figures.rounds} of {rounds} rounds held")

        try:
            run_rounds(rounds, seed, place, figures, progress, rounds_a_folder=rounds_a_folder)
        except KeyboardInterrupt:
            bar.stop()
            console.print("stopped before the end")
        except FailedRound as error:
            bar.stop()
            console.print(str(error), style="red", markup=False)
            sys.stdout.flush()
            raise SystemExit(1) from None
    report(console, figures)


def report(console: Console, figures: Figures) -> None:
    times = sorted(figures.restart_s) or [0.0]
    console.print(
        f"{figures.rounds} rounds held: {figures.kills} kills, {figures.kills_at_start} more during a start, "
        f"{figures.clean_stops} clean stops; {figures.visible_records:,} records visible in the end"
    )
    console.print(f"restart: median {times[len(times) // 2]:.2f} s, longest {times[-1]:.2f} s")
    for title, counts in (("damages", figures.damages), ("clients", figures.clients)):
        console.print(f"{title}: " + ", ".join(f"{count} {name}" for name, count in counts.most_common()))


if __name__ == "__main__":
    command()
