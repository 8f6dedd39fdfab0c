"""Write the files that are made from other files, or with ``--check`` say which are out of date.

Each generator is a module run with ``--check`` or without; with ``--check`` it exits non-zero and names the file if the
file is out of date. ``make docs`` and ``make check`` call this.
"""

from __future__ import annotations

import subprocess
import sys

GENERATORS = (
    "tools.codec",
    "tools.draw_layers",
    "tools.draw_states",
    "tools.draw_group_states",
    "tools.document_settings",
    "tools.document_security",
    "tools.type_keywords",
    "tools.document_commands",
    "tools.document_spark",
    "tools.document_spark_versions",
    "tools.document_kafka_versions",
    "tools.document_metrics",
    "tools.document_verify",
    "tools.document_schema_values",
)


def main() -> int:
    failed = [name for name in GENERATORS if subprocess.run([sys.executable, "-m", name, *sys.argv[1:]]).returncode]
    if failed:
        sys.stderr.write(f"generated files are not current: run `make docs` ({', '.join(failed)})\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
