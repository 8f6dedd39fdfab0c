"""What is refused about a pipeline before Spark starts, and before a broker is asked."""

from __future__ import annotations

import pytest

from oncelog.spark.pipeline import Pipeline, PipelineError, Sink, Source
from oncelog.spark.pipeline.running import RunSettings, check


@pytest.mark.parametrize(
    "read",
    [
        {"topic": "orders,dead"},
        {"options": {"subscribePattern": "de.*"}},
        {"options": {"assign": '{"dead": [0]}'}},
    ],
)
def test_dead_letters_that_would_be_read_again_are_refused(read: dict[str, dict[str, str]]) -> None:
    """Each dead letter would become another one, without end."""
    source = Source(schema="id int", malformed="dead-letter", dead_letter="dead", **read)  # type: ignore[arg-type]
    one = Pipeline("loop", {"source": source}, {"source": Sink("out")}, lambda rows: rows)
    with pytest.raises(PipelineError, match="pipeline loop reads topic 'dead' and writes its dead letters there"):
        check([one], RunSettings("127.0.0.1:1", "checkpoints"))
