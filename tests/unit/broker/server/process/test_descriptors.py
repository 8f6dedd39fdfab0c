"""Descriptors are shared out before anything is opened."""

from __future__ import annotations

import resource

from oncelog.broker.server.process.descriptors import RESERVED, claim, share_out


def test_files_and_connections_together_stay_within_the_descriptor_limit() -> None:
    for limit in (256, 1024, 65_536, 1_048_576):
        shares = share_out(limit)
        assert shares.files + shares.connections + RESERVED == limit
        assert 80 <= shares.files <= 8192


def test_the_soft_descriptor_limit_is_raised_to_the_hard_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, hard), hard))
        claim()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
