"""Members that repeat themselves endlessly, or that bring more than their group could ever store."""

from __future__ import annotations

import pytest

from oncelog.broker.coordinator.group import group_coordinator as coordinator
from oncelog.broker.coordinator.group.classic.classic_group import MAX_METADATA_BYTES
from oncelog.broker.coordinator.group.classic.classic_protocol import MAX_PARKED
from oncelog.errors import Error
from tests.support.group_host import GroupClient, MemoryGroupHost
from tests.support.work import calls_of

MB = 1024 * 1024


@pytest.fixture
def g() -> GroupClient:
    return GroupClient(MemoryGroupHost({"t": 3}))


def test_a_member_that_repeats_a_request_thousands_of_times_has_a_limited_number_of_pending_answers(
    g: GroupClient,
) -> None:
    """Each repetition used to pass its answer on to the previous one, until the interpreter's stack was full."""
    lead, follower = g.stable(2)
    joins = [g.join(lead) for _ in range(3000)]
    assert {answer.value.error_code for answer in joins[:-MAX_PARKED]} == {Error.REBALANCE_IN_PROGRESS}
    assert not any(answer.done for answer in joins[-MAX_PARKED:])
    g.join(follower)
    assert {answer.value.generation_id for answer in joins[-MAX_PARKED:]} == {2}
    syncs = [g.sync(follower, 2) for _ in range(3000)]
    assert {answer.value.error_code for answer in syncs[:-MAX_PARKED]} == {Error.REBALANCE_IN_PROGRESS}
    g.sync(lead, 2, {follower: b"F"})
    assert [answer.value.assignment for answer in syncs[-MAX_PARKED:]] == [b"F"] * MAX_PARKED


def test_a_group_accepts_no_more_metadata_than_it_can_store(g: GroupClient) -> None:
    most = {"range": bytes(MAX_METADATA_BYTES - MB)}
    lead, follower = g.stable(2)
    for instance_id in (None, "i"):
        _, answer = g.joined(protocols=most | {"other": bytes(2 * MB)}, instance_id=instance_id)
        assert answer.value.error_code == Error.GROUP_MAX_SIZE_REACHED
    assert g.heartbeat(follower, 1) == Error.NONE
    newcomer, waiting = g.joined(protocols=most)
    assert not waiting.done
    assert g.join(lead, protocols={"range": bytes(2 * MB)}).value.error_code == Error.GROUP_MAX_SIZE_REACHED
    again = g.join(newcomer, protocols=most)  # instead of its own
    g.join(follower)
    assert again.value.generation_id == waiting.value.generation_id == 2
    assert g.leave((newcomer, None)).value.error_code == Error.NONE
    assert not g.joined(protocols=most)[1].done


def test_metadata_of_all_groups_together_is_limited_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "MAX_MEMBERS_BYTES", 3 * MB)
    host = MemoryGroupHost({"t": 3})
    clients = [GroupClient(host, f"g{number}") for number in range(4)]
    large = {"range": bytes(MB - 3000)}
    joined = [client.join(protocols=large, version=3) for client in clients]
    assert [answer.done for answer in joined] == [False, False, False, True]
    assert joined[3].value.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert not clients[3].join(protocols={"range": b""}, version=3).done
    host.pass_time(3000)
    clients[0].leave((joined[0].value.member_id, None))
    host.pass_time(1000)
    assert not clients[3].join(protocols=large, version=3).done


def test_pending_member_ids_that_no_member_uses_count_towards_the_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id contains its client's, which may be 32 KB long, and lasts for a session: up to half an hour."""
    monkeypatch.setattr(coordinator, "MAX_MEMBERS_BYTES", 3 * MB)
    host = MemoryGroupHost({"t": 3})
    client = GroupClient(host, client_id="x" * 32_000)
    answers = []
    for _ in range(100):
        answers.append(client.join().value.error_code)
        host.pass_time(100)
    assert set(answers) == {Error.MEMBER_ID_REQUIRED, Error.COORDINATOR_NOT_AVAILABLE}
    assert 80 < answers.count(Error.MEMBER_ID_REQUIRED) < 100
    host.pass_time(20_000)
    assert client.join().value.error_code == Error.MEMBER_ID_REQUIRED


def test_names_of_topics_that_do_not_exist_cause_no_work_in_later_heartbeats(g: GroupClient) -> None:
    """Each heartbeat that changes something sorted and looked up all that members had named: 1.5 s for 400,000."""
    g.host.settings_of["g"] = {"consumer.assignment.interval.ms": "0"}

    def joins(member_id: str, *named: str) -> int:
        return calls_of(lambda: g.beat(member_id, 0, topics=["t", *named]))

    joins("first")
    few = joins("second")
    for member in range(10):
        joins(f"m{member}", *(f"missing-{member}-{name}" for name in range(1000)))
    assert joins("last") < few + 12 * 200  # it grows with the members
    assert g.beat("last", 0).value.error_code == Error.NONE


def test_topics_that_members_name_take_no_more_memory_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They need not exist, and each takes two hundred bytes: 45,000 fit into half a megabyte of a request."""
    monkeypatch.setattr(coordinator, "MAX_MEMBERS_BYTES", 3 * MB)
    host = MemoryGroupHost({"t": 3})
    clients = [GroupClient(host, f"g{number}") for number in range(4)]
    names = [f"n{number}" for number in range(4500)]
    joined = [client.beat(f"m{number}", 0, topics=names).value for number, client in enumerate(clients)]
    assert [answer.error_code for answer in joined] == [*[Error.NONE] * 3, Error.COORDINATOR_NOT_AVAILABLE]
    assert clients[0].beat("m0", joined[0].member_epoch).value.error_code == Error.NONE
    clients[0].beat("m0", -1)
    host.pass_time(1000)
    assert clients[3].beat("m3", 0, topics=names).value.error_code == Error.NONE

    def taken() -> int:
        return sum(host.shard(client.group_id).groups[client.group_id].memory_bytes for client in clients)

    before = taken()
    host.restart()
    assert 2 * MB < before == taken() < 3 * MB


def test_a_group_that_no_member_has_joined_is_removed_when_its_pending_member_id_expires() -> None:
    """Thirty thousand, of 2 KB each, waited for the next check for expired offsets, ten minutes at most."""
    host = MemoryGroupHost({"t": 3})
    for number in range(50):
        GroupClient(host, f"g{number}").join(session_timeout_ms=6000)
    with_offset, used = GroupClient(host, "offset"), GroupClient(host, "used")
    with_offset.join(session_timeout_ms=6000)
    with_offset.commit(1)
    (member,) = used.stable(1)
    used.leave((member, None))
    used.join(session_timeout_ms=6000)
    host.pass_time(6000)
    left = [group_id for shard in host.coordinator.runtime.shards() for group_id in shard.groups]
    assert sorted(left) == ["offset", "used"]
    host.restart()
    assert "g7" not in host.shard("g7").groups
