"""What a log counts."""

from __future__ import annotations

import inspect
import re

from oncelog.broker.log import state, trimmer, writer
from oncelog.broker.log.activity import REFUSALS
from oncelog.broker.log.producers import producer_rules, producer_state
from oncelog.errors import Error
from oncelog.records import validation


def test_metrics_show_every_error_that_can_refuse_a_batch_from_the_start() -> None:
    named = {
        name
        for module in (state, trimmer, writer, producer_rules, producer_state, validation)
        for name in re.findall(r"Error\.([A-Z_]+)", inspect.getsource(module))
    }
    answers_of_readers = {"OFFSET_OUT_OF_RANGE"}
    accepted = {"NONE"}
    assert named - answers_of_readers - accepted == {error.name for error in REFUSALS}
    assert Error.NONE not in REFUSALS
