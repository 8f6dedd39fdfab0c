"""How ``oncelog mirror`` ends."""

from __future__ import annotations

import click
import pytest

from oncelog.cli.programs.mirror import _say_end


@pytest.mark.parametrize(("once", "switch_over"), [(True, False), (False, True)])
def test_a_mirror_that_is_interrupted_before_its_wait_is_over_does_not_succeed(once: bool, switch_over: bool) -> None:
    with pytest.raises(click.Abort):
        _say_end(False, once=once, switch_over=switch_over)
    _say_end(True, once=once, switch_over=switch_over)


def test_a_continuous_mirror_is_complete_when_it_is_stopped() -> None:
    _say_end(False, once=False, switch_over=False)
