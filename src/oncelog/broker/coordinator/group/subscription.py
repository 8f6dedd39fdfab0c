"""The consumer protocol's subscription and assignment, embedded by members in JoinGroup and SyncGroup.

Called by ``classic_group`` (which topics a classic group reads) and by ``migration`` (members of the classic protocol
in a consumer group). The coordinator reads these bytes only if the protocol type is ``consumer``; malformed bytes are
left to the members. Source: Kafka's ``ConsumerProtocol``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oncelog.protocol.codec_errors import MalformedMessage
from oncelog.protocol.generated.consumer_protocol_assignment import ConsumerProtocolAssignment
from oncelog.protocol.generated.consumer_protocol_assignment import TopicPartition as AssignedTopic
from oncelog.protocol.generated.consumer_protocol_subscription import ConsumerProtocolSubscription

PROTOCOL_TYPE = "consumer"


def version_of(data: bytes) -> int | None:
    """The version at the start of a subscription or an assignment, or None if there is none."""
    if len(data) < 2:
        return None
    version = int.from_bytes(data[:2], "big", signed=True)
    return version if version >= 0 else None


def parse_subscription(data: bytes) -> ConsumerProtocolSubscription | None:
    """The subscription, decoded in its own version or in the newest version known here; None if it is malformed."""
    version = version_of(data)
    if version is None:
        return None
    try:
        newest = ConsumerProtocolSubscription.MAX_VERSION
        return ConsumerProtocolSubscription.decode_prefix(data, min(version, newest), 2)[0]
    except MalformedMessage:
        return None


def subscribed_topics(data: bytes) -> Sequence[str] | None:
    """The topics of a subscription of any version, as version 0 is a prefix of all; None if the subscription is
    malformed."""
    if version_of(data) is None:
        return None
    try:
        return ConsumerProtocolSubscription.decode_prefix(data, 0, 2)[0].topics
    except MalformedMessage:
        return None


def encode_assignment(partitions: Mapping[str, Sequence[int]], version: int) -> bytes:
    """Encode an assignment by topic name, in ``version`` or, if that is unknown here, in the newest known version."""
    version = min(version, ConsumerProtocolAssignment.MAX_VERSION)
    topics = [AssignedTopic(topic, list(numbers)) for topic, numbers in partitions.items()]
    return version.to_bytes(2, "big") + ConsumerProtocolAssignment(topics, None).encode(version)


def decode_assignment(data: bytes) -> ConsumerProtocolAssignment | None:
    """The decoded assignment, or None if the bytes are malformed; no bytes are an empty assignment."""
    if not data:
        return ConsumerProtocolAssignment()
    version = version_of(data)
    if version is None:
        return None
    try:
        newest = ConsumerProtocolAssignment.MAX_VERSION
        return ConsumerProtocolAssignment.decode_prefix(data, min(version, newest), 2)[0]
    except MalformedMessage:
        return None
