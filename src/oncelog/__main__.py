"""``python -m oncelog``: the same as the command ``oncelog``."""

from oncelog.cli import run

if __name__ == "__main__":
    run()
