"""The states of a request, and that no API takes one past them."""

from __future__ import annotations

from itertools import product

import pytest

from oncelog.broker.core.requests.context import NEXT_STATES, RequestContext, RequestState
from oncelog.errors import InvariantError
from tests.unit.broker.core.conftest import RecordingChannel


def request_in(state: RequestState) -> RequestContext:
    made = RequestContext(RecordingChannel(), 0, 3, 12, 1, "test", 0)
    made.state = state
    return made


@pytest.mark.parametrize(("state", "other"), list(product(RequestState, RequestState)))
def test_a_request_changes_its_state_as_the_table_says(state: RequestState, other: RequestState) -> None:
    made = request_in(state)
    if other in NEXT_STATES[state]:
        made.enter(other)
        assert made.state is other
        return
    with pytest.raises(InvariantError, match=f"{state.name} cannot become {other.name}"):
        made.enter(other)
    assert made.state is state


def test_every_state_ends() -> None:
    reached = {RequestState.RECEIVED}
    for _ in RequestState:
        reached |= {following for state in reached for following in NEXT_STATES[state]}
    assert reached == set(RequestState)
    assert not NEXT_STATES[RequestState.DROPPED], "a request that was dropped stays so"
