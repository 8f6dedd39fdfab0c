"""The contents of the open transaction: partitions that its coordinator knows, and those still to be added.

Called by the transaction manager. Source: ``TransactionManager`` (``newPartitionsInTransaction`` and so on).
"""

from __future__ import annotations

from oncelog.client.core.structs import TopicPartition


class TransactionContents:
    """The partitions of one transaction, in the order in which they were added."""

    def __init__(self) -> None:
        self._new: dict[TopicPartition, None] = {}
        self._adding: dict[TopicPartition, None] = {}
        self._added: dict[TopicPartition, None] = {}
        self.started = False
        """Whether the coordinator knows the transaction, or will know it; otherwise there is nothing to end."""

    def add(self, partition: TopicPartition, *, by_writing: bool) -> None:
        """Add the partition of a record that is about to be sent; with ``by_writing``, the Produce request itself adds
        it at the coordinator (KIP-890)."""
        if partition in self._added or partition in self._new or partition in self._adding:
            return
        if by_writing:
            self._added[partition] = None
            self.started = True
        else:
            self._new[partition] = None

    @property
    def has_new(self) -> bool:
        """Whether there are partitions to add at the coordinator."""
        return bool(self._new)

    def take_new(self) -> list[TopicPartition]:
        """Take the partitions that have to be added at the coordinator now."""
        partitions = list(self._new)
        self._adding.update(self._new)
        self._new.clear()
        return partitions

    def confirm(self, partitions: list[TopicPartition]) -> None:
        """Record that the coordinator has added these partitions."""
        for partition in partitions:
            self._adding.pop(partition, None)
            self._added[partition] = None
        self.started = True

    def drop_new(self) -> None:
        """Forget partitions that were not added yet, because the transaction cannot be committed."""
        self._new.clear()

    def __contains__(self, partition: TopicPartition) -> bool:
        """Whether the coordinator has added the partition, so that its records may be sent."""
        return partition in self._added

    def clear(self) -> None:
        """Called when the transaction is over."""
        self._new.clear()
        self._adding.clear()
        self._added.clear()
        self.started = False


__all__ = ["TransactionContents"]
