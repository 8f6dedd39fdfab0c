"""The ranges of a share partition hold of each offset what was last said of it, however the changes are put in."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncelog.broker.coordinator.share.state_rules import FINAL, RecordState, StateBatch
from oncelog.broker.core.sharing import share_partition
from oncelog.broker.core.sharing.share_partition import SharePartition

END = 30
STATES = st.sampled_from([RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED])


@st.composite
def changes(draw: st.DrawFn) -> list[StateBatch]:
    """Some in ascending order, which do not overlap."""
    ends = sorted(draw(st.sets(st.integers(0, END), min_size=2)))
    found = [StateBatch(a, b - 1, draw(STATES), draw(st.integers(1, 2))) for a, b in pairwise(ends)]
    return [each for each in found if draw(st.booleans())]


@pytest.mark.parametrize("sparse", [-1, 1, 100])
@given(steps=st.lists(changes(), max_size=6))
def test_each_offset_has_the_state_of_its_last_change(sparse: int, steps: list[list[StateBatch]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(share_partition, "SPARSE", sparse)
        partition = SharePartition(0, [StateBatch(0, END - 1, RecordState.AVAILABLE, 1)])
        model = dict.fromkeys(range(END), (RecordState.AVAILABLE, 1))
        for step in steps:
            for change in step:
                for offset in range(max(change.first, min(model, default=END)), change.last + 1):
                    model[offset] = change.state, change.deliveries
            while model and model[min(model)][0] in FINAL:
                del model[min(model)]
            partition.settle(step, written=True)
            ranges = list(partition)
            found = {
                offset: (each.state, each.deliveries) for each in ranges for offset in range(each.first, each.last + 1)
            }
            assert found == model
            assert all(left.last + 1 == right.first and not left.like(right) for left, right in pairwise(ranges))
            assert partition.final_count == sum(state in FINAL for state, _ in model.values())
            assert partition.start_offset == min(model, default=END)
            if not model:
                break
