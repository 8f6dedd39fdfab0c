"""The blocking admin client. Called by programs and the command line."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, NoReturn, Self, TypeVar

from oncelog.client.aio.admin.admin import Admin as AsyncAdmin
from oncelog.client.aio.admin.admin_security import UserCredential
from oncelog.client.aio.offset_lookups import FoundOffset
from oncelog.client.background import BackgroundLoop, background
from oncelog.client.core.admin.admin_types import (
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    FeatureLevel,
    GroupDescription,
    GroupListing,
    NewTopic,
    PartitionReassignment,
    ProducerState,
    RecordsToDelete,
    ShareGroupOffset,
    TopicDescription,
    TransactionDescription,
    TransactionListing,
)
from oncelog.client.core.arguments import Offsets, walked
from oncelog.client.core.client_errors import IllegalStateError
from oncelog.client.core.structs import OffsetAndMetadata, TopicPartition
from oncelog.errors import Error
from oncelog.protocol.acls import Acl, AclFilter
from oncelog.protocol.scram import MIN_ITERATIONS

if TYPE_CHECKING:
    import ssl
    from typing import Unpack

    from oncelog.client.core.config import AdminConfig
    from oncelog.client.core.keywords import AdminKeywords

    class AdminArguments(AdminKeywords, total=False):
        """Arguments passed on to the asyncio admin client."""

        config: AdminConfig | None
        ssl_context: ssl.SSLContext | None


T = TypeVar("T")


class Admin:
    """The blocking admin client; settings as for ``oncelog.client.aio.Admin``."""

    def __init__(self, *misplaced: Never, **settings: Unpack[AdminArguments]) -> None:
        self._admin = AsyncAdmin(*misplaced, **settings)
        self._background: BackgroundLoop | None = None
        self._closed = False

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client cannot be copied or sent to another process: create another client there")

    def start(self) -> Self:
        """Connect."""
        if self._closed:
            raise IllegalStateError("the admin client was closed; create a new one")
        if self._background is None:
            chosen = background()
            chosen.start(self._admin.start(), self._admin.close)
            self._background = chosen
        return self

    def close(self) -> None:
        """Close the connections. May be called twice."""
        if not self._closed:
            self._closed = True
            if self._background is not None and self._background.usable:  # after a fork the loop belongs to the parent
                self._background.run(self._admin.close())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self.start()
        return (self._background or background()).run(work())

    def create_topics(self, topics: Iterable[NewTopic], *, validate_only: bool = False) -> None:
        """Create topics, and return when their leaders are known."""
        self._run(lambda: self._admin.create_topics(walked(topics), validate_only=validate_only))

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete topics with all their records."""
        self._run(lambda: self._admin.delete_topics(walked(names)))

    def create_partitions(self, counts: Mapping[str, int], *, validate_only: bool = False) -> None:
        """Give topics this many partitions in all; with ``validate_only`` only check whether that is possible."""
        self._run(lambda: self._admin.create_partitions(counts, validate_only=validate_only))

    def alter_partition_reassignments(self, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Move a partition to these nodes, the preferred leader first; None cancels a move that is under way."""
        self._run(lambda: self._admin.alter_partition_reassignments(wanted))

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Moves that are under way, of these partitions or of all partitions."""
        return self._run(lambda: self._admin.list_partition_reassignments(walked(partitions)))

    def elect_leaders(
        self, partitions: Iterable[TopicPartition], *, unclean: bool = False
    ) -> dict[TopicPartition, Error]:
        """Make the preferred replica of each partition its leader."""
        return self._run(lambda: self._admin.elect_leaders(walked(partitions), unclean=unclean))

    def describe_acls(self, wanted: AclFilter) -> list[Acl]:
        """The ACLs that match a filter, sorted."""
        return self._run(lambda: self._admin.describe_acls(wanted))

    def create_acls(self, acls: Iterable[Acl]) -> None:
        """Add ACLs; those that already exist stay."""
        self._run(lambda: self._admin.create_acls(walked(acls)))

    def delete_acls(self, wanted: AclFilter) -> list[Acl]:
        """Remove the ACLs that match a filter, and return them."""
        return self._run(lambda: self._admin.delete_acls(wanted))

    def describe_users(self, names: Sequence[str] = ()) -> list[UserCredential]:
        """The SCRAM credentials of these users, or of all users."""
        return self._run(lambda: self._admin.describe_users(names))

    def set_password(self, user: str, mechanism: int, password: str, iterations: int = MIN_ITERATIONS) -> None:
        """Create or replace a user's credential for one mechanism (1: SCRAM-SHA-256, 2: SCRAM-SHA-512)."""
        self._run(lambda: self._admin.set_password(user, mechanism, password, iterations))

    def delete_credential(self, user: str, mechanism: int) -> None:
        """Remove a user's credential for one mechanism."""
        self._run(lambda: self._admin.delete_credential(user, mechanism))

    def list_topics(self, *, internal: bool = False) -> list[str]:
        """Names of all topics, sorted."""
        return self._run(lambda: self._admin.list_topics(internal=internal))

    def describe_topics(self, names: Iterable[str] | None = None) -> list[TopicDescription]:
        """Topics with leaders and replicas."""
        return self._run(lambda: self._admin.describe_topics(walked(names)))

    def partitions(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic."""
        return self._run(lambda: self._admin.partitions(topic))

    def describe_cluster(self) -> ClusterDescription:
        """Nodes, controller and id of the cluster."""
        return self._run(self._admin.describe_cluster)

    def describe_features(self) -> dict[str, FeatureLevel]:
        """The cluster's features by name (KIP-584)."""
        return self._run(self._admin.describe_features)

    def describe_api_versions(self) -> dict[int, tuple[int, int]]:
        """The lowest and the highest version of each API that a broker offers, by the API's key."""
        return self._run(self._admin.describe_api_versions)

    def describe_configs(
        self, resources: Iterable[ConfigResource], *, names: Sequence[str] | None = None
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """Properties of topics, brokers or groups, by name."""
        return self._run(lambda: self._admin.describe_configs(walked(resources), names=names))

    def alter_configs(
        self, changes: Mapping[ConfigResource, Mapping[str, str | None]], *, validate_only: bool = False
    ) -> None:
        """Set these properties and no others; None restores the default."""
        self._run(lambda: self._admin.alter_configs(changes, validate_only=validate_only))

    def delete_records(self, offsets: Mapping[TopicPartition, int | RecordsToDelete]) -> dict[TopicPartition, int]:
        """Delete the records before these offsets (-1: all)."""
        return self._run(lambda: self._admin.delete_records(offsets))

    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, FoundOffset]:
        """Offsets by time in ms; -1 is the end, -2 the beginning, -3 the record with the greatest timestamp."""
        return self._run(lambda: self._admin.list_offsets(wanted, read_committed=read_committed))

    def settled_ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, FoundOffset]:
        """The end of each partition for a read_committed reader that must read everything: after transactions that are
        being completed, before open transactions.
        """
        return self._run(lambda: self._admin.settled_ends(walked(partitions)))

    def list_consumer_groups(self, *, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[GroupListing]:
        """All groups, share groups too, by name; with ``states`` or ``types``, only groups in one of these states or of
        one of these types.
        """
        return self._run(lambda: self._admin.list_consumer_groups(states=states, types=types))

    def describe_consumer_groups(self, group_ids: Iterable[str]) -> list[GroupDescription]:
        """State, members and assigned partitions of groups."""
        return self._run(lambda: self._admin.describe_consumer_groups(walked(group_ids)))

    def delete_consumer_groups(self, group_ids: Iterable[str]) -> None:
        """Delete groups that have no members, with their offsets."""
        self._run(lambda: self._admin.delete_consumer_groups(walked(group_ids)))

    def list_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        negative: bool = False,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Committed positions; partitions without one are left out."""
        return self._run(
            lambda: self._admin.list_consumer_group_offsets(
                group_id, walked(partitions), require_stable=require_stable, negative=negative
            )
        )

    def alter_consumer_group_offsets(self, group_id: str, offsets: Offsets) -> None:
        """Set committed positions of a group without members."""
        self._run(lambda: self._admin.alter_consumer_group_offsets(group_id, offsets))

    def delete_consumer_group_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Delete committed positions."""
        self._run(lambda: self._admin.delete_consumer_group_offsets(group_id, walked(partitions)))

    def list_share_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, ShareGroupOffset]:
        """The start offsets of a share group in these partitions, or in all partitions that it reads or has read."""
        return self._run(lambda: self._admin.list_share_group_offsets(group_id, walked(partitions)))

    def alter_share_group_offsets(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Deliver from these offsets on; the share group must have no members."""
        self._run(lambda: self._admin.alter_share_group_offsets(group_id, offsets))

    def delete_share_group_offsets(self, group_id: str, topics: Iterable[str]) -> None:
        """Delete a share group's offsets and deliveries of these topics; the group must have no members."""
        self._run(lambda: self._admin.delete_share_group_offsets(group_id, walked(topics)))

    def find_coordinator(self, group_id: str) -> int:
        """The node that coordinates the group."""
        return self._run(lambda: self._admin.find_coordinator(group_id))

    def list_transactions(
        self, *, states: Sequence[str] = (), producer_ids: Sequence[int] = (), running_longer_than_ms: int = -1
    ) -> list[TransactionListing]:
        """All transactional ids, or those that match."""
        return self._run(
            lambda: self._admin.list_transactions(
                states=states, producer_ids=producer_ids, running_longer_than_ms=running_longer_than_ms
            )
        )

    def describe_transactions(self, transactional_ids: Iterable[str]) -> list[TransactionDescription]:
        """State, producer and partitions of transactional ids."""
        return self._run(lambda: self._admin.describe_transactions(walked(transactional_ids)))

    def describe_producers(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, list[ProducerState]]:
        """The producers whose state each partition holds."""
        return self._run(lambda: self._admin.describe_producers(walked(partitions)))

    def find_hanging_transactions(
        self, partitions: Iterable[TopicPartition]
    ) -> list[tuple[TopicPartition, ProducerState]]:
        """Transactions that are open in a partition but unknown to every coordinator."""
        return self._run(lambda: self._admin.find_hanging_transactions(walked(partitions)))

    def abort_transaction(
        self, partition: TopicPartition, *, start_offset: int | None = None, producer: ProducerState | None = None
    ) -> None:
        """End a hanging transaction in one partition with an abort marker."""
        self._run(lambda: self._admin.abort_transaction(partition, start_offset=start_offset, producer=producer))

    def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Fence the producers of these transactional ids and abort their open transactions."""
        return self._run(lambda: self._admin.fence_producers(walked(transactional_ids)))


__all__ = ["Admin"]
