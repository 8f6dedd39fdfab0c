"""Client quotas: which one holds, and how long its owner waits."""

from __future__ import annotations

import pytest

from oncelog.broker.throttle import CONTROLLER_MUTATION_RATE, LONGEST_WAIT_MS, PRODUCER_BYTE_RATE, Throttle
from oncelog.metadata.store import QuotaEntity

WINDOW_MS = 1000
NOW = 1_000_000


def entity(user: str | None = "", client: str | None = "") -> QuotaEntity:
    parts = [("client-id", client)] if client != "" else []
    return (*parts, *([("user", user)] if user != "" else []))


def throttle(quotas: dict[QuotaEntity, float]) -> Throttle:
    return Throttle({one: {PRODUCER_BYTE_RATE: rate} for one, rate in quotas.items()}, WINDOW_MS, 1)


def use(owner: Throttle, amount: float, *, user: str = "alice", client: str = "c", now_ms: int = NOW) -> int:
    return owner.use(PRODUCER_BYTE_RATE, f"User:{user}", client, amount, now_ms)


def test_what_was_saved_up_in_a_window_is_free_and_the_rest_waits_at_the_rate() -> None:
    owner = throttle({entity("alice"): 1000.0})
    assert use(owner, 1000) == 0
    assert use(owner, 500) == 500
    assert use(owner, 0, now_ms=NOW + 500) == 0
    assert use(owner, 2000, now_ms=NOW + 60_000) == 1000


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_who_waits_does_so_as_long_whatever_becomes_of_the_clock(step_ms: int) -> None:
    owner = throttle({entity("alice"): 1000.0})
    assert use(owner, 1500) == 500
    owner.clock_was_set(step_ms)
    assert use(owner, 100, now_ms=NOW + step_ms) == 600


def test_clients_of_a_user_share_the_users_quota_and_other_users_have_none() -> None:
    owner = throttle({entity("alice"): 1000.0})
    assert use(owner, 1000, client="a") == 0
    assert use(owner, 1000, client="b") == 1000
    assert use(owner, 10**9, user="bob") == 0


def test_the_most_particular_quota_holds() -> None:
    quotas = {
        entity(client=None): 1.0,
        entity(client="c"): 2.0,
        entity(None): 3.0,
        entity(None, None): 4.0,
        entity(None, "c"): 5.0,
        entity("alice"): 6.0,
        entity("alice", None): 7.0,
        entity("alice", "c"): 8.0,
    }
    while quotas:
        strictest = max(quotas.values())
        assert use(throttle(quotas), 2 * strictest) == 1000, quotas
        quotas = {one: rate for one, rate in quotas.items() if rate < strictest}


@pytest.mark.parametrize("one", [(("ip", "192.0.2.1"),), (("ip", None),)])
def test_quotas_of_addresses_are_not_of_users(one: QuotaEntity) -> None:
    assert not Throttle({one: {"connection_creation_rate": 5.0}}, WINDOW_MS, 1).is_needed


def test_a_strict_quota_counts_nothing_once_it_is_used_up() -> None:
    owner = Throttle({(("user", "u"),): {CONTROLLER_MUTATION_RATE: 1.0}}, 1000)

    def take(amount: float, now_ms: int) -> int:
        return owner.take(CONTROLLER_MUTATION_RATE, "User:u", "c", amount, now_ms)

    # As Apache Kafka 4.3.1: a window of 11 s saved up, 20 used, 9 s to wait whatever is asked meanwhile.
    assert take(20, 100_000) == 0
    assert take(30, 100_000) == 9000
    assert take(30, 100_000) == 9000
    assert take(1, 108_999) == 1
    assert take(1, 109_000) == 0
    assert take(1, 109_000) == 1000


def test_a_rate_of_next_to_nothing_is_a_long_wait_and_no_overflow() -> None:
    owner = Throttle({(("user", "u"),): {PRODUCER_BYTE_RATE: 1e-300}}, 1000)
    assert owner.use(PRODUCER_BYTE_RATE, "User:u", "c", 1e9, 100_000) == LONGEST_WAIT_MS
    assert owner.use(PRODUCER_BYTE_RATE, "User:u", "c", 1e9, 100_001) == LONGEST_WAIT_MS
