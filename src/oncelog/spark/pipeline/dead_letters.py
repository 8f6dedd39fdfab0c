"""The headers that a dead letter has in addition to the headers of its record.

Written by :mod:`oncelog.spark.pipeline.rows`, read by ``oncelog redrive``.
"""

from typing import Final

ERROR_HEADER: Final = "oncelog.error"
"""Why the record became a dead letter."""
ORIGIN_HEADERS: Final = {"oncelog.topic": "topic", "oncelog.partition": "partition", "oncelog.offset": "offset"}
"""The headers with the record's origin, and the source column of each."""
