"""Groups of both protocols listed, described and deleted together."""

from __future__ import annotations

import pytest

from oncelog.broker.coordinator.group import describe
from oncelog.broker.coordinator.group.classic.classic_group import ClassicGroup
from oncelog.broker.core.requests.work import finished
from oncelog.errors import Error
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from tests.support.group_host import GroupClient, MemoryGroupHost


@pytest.fixture
def host() -> MemoryGroupHost:
    """An empty classic group, a stable one, and one of the consumer protocol."""
    made = MemoryGroupHost({"t": 2})
    GroupClient(made, "offsets").commit(5)
    GroupClient(made, "classic").stable(1)
    GroupClient(made, "consumer").beat("m", 0)
    return made


@pytest.mark.parametrize(
    ("states", "types", "names"),
    [
        ([], [], ["classic", "consumer", "offsets"]),
        (["Stable"], [], ["classic", "consumer"]),
        (["EMPTY "], [], ["offsets"]),
        ([], ["Consumer"], ["consumer"]),
        ([], ["classic"], ["classic", "offsets"]),
        (["Empty"], ["consumer"], []),
    ],
)
def test_groups_are_chosen_by_state_and_type(
    host: MemoryGroupHost, states: list[str], types: list[str], names: list[str]
) -> None:
    found = finished(host.coordinator.list_groups(ListGroupsRequest(states, types), node_id=None))
    assert sorted(group.group_id for group in found) == names


@pytest.mark.parametrize("version", [5, 6])
def test_a_group_of_another_protocol_is_dead_for_old_clients_and_not_found_for_new_clients(
    host: MemoryGroupHost, version: int
) -> None:
    group = host.shard("consumer").groups["consumer"]
    found = describe.classic_group("consumer", group, version)
    unknown = describe.classic_group("none", None, version)
    assert (found.group_state, unknown.group_state) == ("Dead", "Dead")
    new = version >= describe.GROUP_ID_NOT_FOUND_FROM
    error = Error.GROUP_ID_NOT_FOUND if new else Error.NONE
    assert (found.error_code, unknown.error_code) == (error, error)
    assert found.error_message == ("Group consumer is not a classic group." if new else None)
    assert unknown.error_message == ("Group none not found." if new else None)


def test_only_empty_groups_are_deleted_whatever_their_protocol(host: MemoryGroupHost) -> None:
    asked = ["offsets", "classic", "consumer", "none", "offsets"]
    found = {one.group_id: Error(one.error_code) for one in host.coordinator.delete_groups(asked, 0, None).value}
    assert found == {
        "offsets": Error.NONE,
        "classic": Error.NON_EMPTY_GROUP,
        "consumer": Error.NON_EMPTY_GROUP,
        "none": Error.GROUP_ID_NOT_FOUND,
    }
    consumer = GroupClient(host, "consumer")
    consumer.commit(3, member_id="m", generation=2)
    consumer.beat("m", -1)
    (gone,) = host.coordinator.delete_groups(["consumer"], 0, None).value
    assert gone.error_code == Error.NONE and consumer.offset() == -1


def test_an_expiration_fault_expires_a_member_only_if_it_has_a_session(host: MemoryGroupHost) -> None:
    shard = host.shard("consumer")
    assert shard.expire_members("consumer", "stranger", host.now_ms) == []
    assert shard.expire_members("consumer", None, host.now_ms) == ["m"]
    assert host.shard("none").expire_members("none", None, host.now_ms) == []


@pytest.mark.parametrize("version", [3, 9], ids=["a member", "a pending id"])
def test_a_group_whose_first_record_cannot_be_written_does_not_exist(version: int) -> None:
    g = GroupClient(MemoryGroupHost({"t": 2}))
    g.host.append_error = Error.NOT_ENOUGH_REPLICAS
    assert g.join(version=version).value.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert g.host.shard("g").groups == {}
    g.host.append_error = Error.NONE
    g.host.pass_time(600_000)
    _, answer = g.joined(version=version)
    g.host.pass_time(0)
    assert answer.value.error_code == Error.NONE
    assert isinstance(g.host.shard("g").groups["g"], ClassicGroup)


def test_a_classic_join_does_not_replace_an_empty_consumer_group_whose_removal_cannot_be_written(
    host: MemoryGroupHost,
) -> None:
    g = GroupClient(host, "consumer")
    g.beat("m", -1)
    host.append_error = Error.NOT_ENOUGH_REPLICAS
    assert g.join(version=3).value.error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert not isinstance(host.shard("consumer").groups["consumer"], ClassicGroup)
