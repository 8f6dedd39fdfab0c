"""A node that does not lead a partition tells a share group's member who does, and where (KIP-951, KIP-932)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Producer

import oncelog
from oncelog.apps.conformance.expect import eventually
from oncelog.apps.conformance.raw.share_members import RawShareMember
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.generated import share_acknowledge_request as acks
from oncelog.protocol.generated import share_fetch_request as fetches
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.share_acknowledge_request import ShareAcknowledgeRequest
from oncelog.protocol.generated.share_fetch_request import ShareFetchRequest
from tests.support.share_groups import TIMEOUT_S, make_topic_and_group

ACCEPT = 1


@pytest.fixture
def broker() -> Iterator[oncelog.Broker]:
    with oncelog.Broker(nodes=3) as running:
        yield running


def test_a_node_that_is_not_the_leader_names_the_leader(broker: oncelog.Broker) -> None:
    """In a fetch; acknowledgements come to a node where nothing of the partition was acquired."""
    make_topic_and_group(broker.bootstrap_servers, "t", "g")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("t", b"job")
    assert producer.flush(TIMEOUT_S) == 0
    leader = broker.leader("t", 0)
    other = next(node for node in broker.nodes if node.node_id != leader)
    with RawConnection(other.bootstrap_servers) as client:
        metadata = client.ask(MetadataRequest([MetadataRequestTopic(name="t")]), 12)
        (topic,) = metadata.topics
        (partition,) = topic.partitions
        (address,) = [(node.node_id, node.host, node.port) for node in metadata.brokers if node.node_id == leader]
        place = fetches.FetchTopic(topic.topic_id, [fetches.FetchPartition(0)])
        answer = client.ask(ShareFetchRequest("g", "m", 0, 0, 1, 1 << 20, 1, 1, topics=[place]), 2)
        assert refusal(answer) == (Error.NOT_LEADER_OR_FOLLOWER, (leader, partition.leader_epoch), [address])
        batches = [acks.AcknowledgementBatch(0, 0, [ACCEPT])]
        ack = acks.AcknowledgeTopic(topic.topic_id, [acks.AcknowledgePartition(0, batches)])
        answer = client.ask(ShareAcknowledgeRequest("g", "m", 1, False, [ack]), 2)
        assert refusal(answer) == (Error.UNKNOWN_TOPIC_OR_PARTITION, (0, 0), [])


def test_a_member_has_a_session_at_each_node_that_leads_a_partition_it_reads(broker: oncelog.Broker) -> None:
    """The end of one releases nothing of what it has acquired at another."""
    make_topic_and_group(broker.bootstrap_servers, "t", "g", partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for index in range(2):
        producer.produce("t", b"job", partition=index)
    assert producer.flush(TIMEOUT_S) == 0
    addresses = {node.node_id: node.bootstrap_servers for node in broker.nodes}
    leaders = [broker.leader("t", index) for index in range(2)]
    assert leaders[0] != leaders[1]
    with RawConnection(addresses[leaders[0]]) as one, RawConnection(addresses[leaders[1]]) as two:
        found = one.ask_until(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4, is_there).coordinators[0]
        with RawConnection(addresses[found.node_id]) as coordinator:
            at_one, at_two, elsewhere = members = [
                RawShareMember(client, "g", "t", one.topic_id("t")) for client in (one, two, coordinator)
            ]
            at_one.id = at_two.id = elsewhere.id
            elsewhere.join()
            for index, member in enumerate(members[:2]):
                assert eventually(partial(acquired, member, index)) == [(0, 0, 1)]
            two.close()
            assert at_one.acknowledge(0, 0, ACCEPT) == 0
            with RawConnection(addresses[leaders[1]]) as again:
                other = RawShareMember(again, "g", "t", one.topic_id("t"))
                assert eventually(partial(acquired, other, 1)) == [(0, 0, 2)]


def is_there(answer: Any) -> bool:
    return not answer.coordinators[0].error_code


def acquired(member: RawShareMember, index: int) -> list[tuple[int, int, int]]:
    error, found = member.fetch_once([index])
    assert error == 0
    return found[index].acquired if index in found else []


def refusal(answer: Any) -> tuple[Error, tuple[int, int], list[tuple[int, str, int]]]:
    """The error of the only partition, its leader and leader epoch, and the addresses that the answer gives."""
    ((part,),) = [topic.partitions for topic in answer.responses]
    addresses = [(node.node_id, node.host, node.port) for node in answer.node_endpoints]
    return Error(part.error_code), (part.current_leader.leader_id, part.current_leader.leader_epoch), addresses
