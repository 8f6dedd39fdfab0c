"""How ``oncelog mirror`` ends."""

from __future__ import annotations

import click
import pytest

from oncelog.cli.programs.mirror import _say_end


@pytest.mark.parametrize(("once", "switch_over"), [(True, False), (False, True)])
def test_interrupted_before_that_for_which_it_was_to_wait_is_no_success(once: bool, switch_over: bool) -> None:
    with pytest.raises(click.Abort):
        _say_end(False, once=once, switch_over=switch_over)
    _say_end(True, once=once, switch_over=switch_over)


def test_mirror_that_goes_on_until_it_is_stopped_has_done_its_work_then() -> None:
    _say_end(False, once=False, switch_over=False)
