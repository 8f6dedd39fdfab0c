"""Write ``docs/reference/kafka-versions.md``: what each version of Apache Kafka supports, from the results of the
tests.

``make kafka-versions`` runs the tests of ``tests/compatibility/kafka_versions`` and keeps their results in
:data:`RESULTS`, from which this makes the page. With ``--check`` it says whether the page is current, with ``--print``
it prints the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.compatibility.kafka_versions.versions import RELEASES
from tools.version_tables import Results, table, write

RESULTS = Path("tests/compatibility/kafka_versions/results.json")
PAGE = Path("docs/reference/kafka-versions.md")
COLUMNS = {name: one.release for name, one in RELEASES.items()}

HEAD = """# Which Apache Kafka

<!-- Made by tools/document_kafka_versions.py from tests/compatibility/kafka_versions/results.json:
run make kafka-versions. -->

The tests of each row ran with one node of each release of Apache Kafka, on Linux with Python 3.11, Java 17 and
PySpark 4.3. `make test-all` runs clients and mirror on two of the releases; `make soak` runs all of it.

- **yes**: all tests passed; **not run**: no result;
- **5/9**: 5 of 9 flows, pages or cases passed. The others need a later release, and the program says so.

"""
TAIL = """
## What does not hold

- **Before 2.5** brokers are refused: they ignore the generation of a group's member, so a member that lost its
  partitions could still commit with a transaction. 2.5 to 2.7 are accepted but not tested.
- **Before 3.0** brokers cannot list transactions: `transactions list` and the console name the release that is needed,
  and `lab` leaves out the flows that watch the coordinator.
- **Before 3.6** the broker stores late records of an aborted transaction, and a later transaction with the same epoch
  commits them. The [sink for Spark](../how-to/spark-sizing.md) and the mirror exclude that; a `Producer`, like every
  other client, is safe only with transaction version 2 (4.0).
- **Without topic ids** (before 2.8, and 2.8 with an older `inter.broker.protocol.version`) only the log shows that a
  topic was deleted and created again: its leader epochs, timestamps, first and last offsets.
- **Before 4.4** transactions commit offsets by topic name, which another topic may have by then (KIP-1319). A group of
  KIP-848 that is full does not take back a static member, and one that elects another assignor keeps its assignment;
  `max.decompressed.message.bytes` is missing.
- **Groups of KIP-848** and **transaction version 2** need 4.0. **Two-phase commit** (KIP-939) is in oncelog only.

For servers that speak the protocol and are not Apache Kafka, see [other brokers](../how-to/other-brokers.md).
"""


def page(results: Results) -> str:
    return f"{HEAD}{releases()}\n{table(results, COLUMNS)}{TAIL}"


def releases() -> str:
    lines = ["| column | Apache Kafka | |", "|---|---|---|"]
    lines += [f"| {one.name} | {one.version} | {one.about} |" for one in RELEASES.values()]
    return "\n".join(lines) + "\n"


def main() -> int:
    return write(RESULTS, PAGE, COLUMNS, page)


if __name__ == "__main__":
    sys.exit(main())
