"""Messages between members of a classic group, passed on by the coordinator: subscriptions and assignments.

Called by the group member. Source: ``ConsumerProtocol``.
"""

from __future__ import annotations

from collections.abc import Collection

from oncelog.client.core.group.assignors import AssignedMember, decode_user_data, encode_user_data
from oncelog.client.core.structs import TopicPartition
from oncelog.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from oncelog.protocol.generated.consumer_protocol_assignment import TopicPartition as AssignedTopic
from oncelog.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription
from oncelog.protocol.generated.consumer_protocol_subscription import TopicPartition as OwnedTopic
from oncelog.types import by_topic


def subscription_bytes(
    assignor: str,
    topics: Collection[str],
    owned: list[TopicPartition],
    owned_generation: int,
    *,
    cooperative: bool,
    rack_id: str | None,
) -> bytes:
    """A member's subscription: its topics, and the partitions that it owned in the previous generation."""
    message = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=encode_user_data(assignor, owned, owned_generation),
        owned_partitions=[
            OwnedTopic(topic=topic, partitions=n) for topic, n in by_topic(owned if cooperative else ()).items()
        ],
        generation_id=owned_generation,
        rack_id=rack_id,
    )
    return b"\x00\x03" + message.encode(3)


def read_member(assignor: str, member_id: str, instance_id: str | None, data: bytes) -> AssignedMember:
    """Decode another member's subscription.

    :raises ProtocolError: it cannot be read.
    """
    version = min(int.from_bytes(data[:2], "big"), 3)
    message, _ = ConsumerProtocolSubscription.decode_prefix(data, version, 2)
    owned = tuple(TopicPartition(item.topic, number) for item in message.owned_partitions for number in item.partitions)
    user_data = None if message.user_data is None else bytes(message.user_data)
    named, generation = decode_user_data(assignor, user_data)
    if message.generation_id >= 0:
        generation = message.generation_id
    return AssignedMember(member_id, tuple(message.topics), owned or named, generation, instance_id)


def assignment_bytes(partitions: list[TopicPartition]) -> bytes:
    """Encode the leader's assignment for a member."""
    topics = [AssignedTopic(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions).items()]
    return b"\x00\x01" + ConsumerProtocolAssignment(assigned_partitions=topics).encode(1)


def read_assignment(data: bytes) -> list[TopicPartition]:
    """Decode the leader's assignment for this member.

    :raises ProtocolError: it cannot be read.
    """
    if not data:
        return []
    version = min(int.from_bytes(data[:2], "big"), 3)
    message, _ = ConsumerProtocolAssignment.decode_prefix(data, version, 2)
    return [TopicPartition(item.topic, number) for item in message.assigned_partitions for number in item.partitions]


__all__ = ["assignment_bytes", "read_assignment", "read_member", "subscription_bytes"]
