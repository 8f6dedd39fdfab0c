"""Write ``docs/reference/kafka-versions.md``: what holds on which Apache Kafka, from the results of the tests.

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

What the tests of each row showed with one node of each release of Apache Kafka, on Linux with Python 3.11, Java 17 and
PySpark 4.3. `make test-all` runs clients and mirror on two of the releases; `make soak` runs all of it.

- **yes**, and the seconds that it took on two cores beside other programs, without the start of the node;
- **5 of 9**: so many flows, pages or cases. The others need what came with a later release: `lab` leaves such a flow
  out and says why, the console's page says it, and `conformance` counts the case as not offered;
- **not run**: no result is kept here.

"""
TAIL = """
## What does not hold

- **Before 2.5** brokers are refused by name: they drop the generation of a group's member in silence, so a member that
  lost its partitions could still commit with a transaction. 2.5 to 2.7 are accepted, but no test runs on them.
- **Before 3.0** nobody can be asked which transactions there are: `transactions list` and the console's page of them
  name the release that is needed, and `lab` cannot show the flows that watch the coordinator.
- **Before 3.6** the broker stores what arrives late of an aborted transaction, and a later transaction with the same
  epoch commits it. The [sink for Spark](../how-to/spark-sizing.md) and the mirror exclude
  that; a `Producer`, like every other client, only gets it with transaction version 2 (4.0).
- **Without topic ids** (before 2.8, and 2.8 with an older `inter.broker.protocol.version`) a topic that was deleted and
  created again is recognised by its log alone: by leader epochs, timestamps and the offsets where it begins and ends.
- **Groups of KIP-848** and **transaction version 2** begin with 4.0, **two-phase commit** (KIP-939) is in oncelog only.

What speaks the protocol and is not Apache Kafka: [other brokers](../how-to/other-brokers.md).
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
