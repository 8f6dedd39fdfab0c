"""What is refused about a pipeline before Spark starts, and before a broker is asked."""

from __future__ import annotations

import pytest

from oncelog.errors import ConfigError
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


@pytest.mark.parametrize("trigger", ["availableNow", "once"])
@pytest.mark.parametrize("in_the_file", [True, False])
def test_a_trigger_that_is_not_a_duration_is_refused_with_the_option_that_is_meant(
    trigger: str, in_the_file: bool
) -> None:
    mine, asked = (trigger, "") if in_the_file else ("5 seconds", trigger)
    one = Pipeline("p", {"source": Source("t")}, {"source": Sink("out")}, lambda rows: rows, trigger=mine)
    settings = RunSettings("127.0.0.1:1", "checkpoints", trigger=asked)
    with pytest.raises(ConfigError, match=f"Pipeline p has trigger '{trigger}', but .* run the pipeline with --once"):
        check([one], settings)
