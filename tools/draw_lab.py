"""Draw flows of ``oncelog lab`` for the documentation, ``docs/assets/lab-FLOW.svg``, from runs on a broker that this
tool starts.

Run by hand after a change of a flow or of the drawing; ``tests/integration/lab`` says when a drawing is out of date. It
starts brokers, so ``make check`` does not run it.
"""

from __future__ import annotations

from pathlib import Path

from oncelog.apps.lab.diagram import draw
from oncelog.apps.lab.flows import FLOWS, run

FOLDER = Path(__file__).parents[1] / "docs" / "assets"
DRAWN = ("acks-lost", "new-pid", "commit", "coordinator-dies", "held-back", "zombie")


def main() -> None:
    for name in DRAWN:
        (FOLDER / f"lab-{name}.svg").write_text(draw(run(FLOWS[name])) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
