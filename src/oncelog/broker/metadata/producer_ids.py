"""Allocates producer ids in blocks, so that no id is allocated again after a restart (Kafka's
``ProducerIdControlManager``).

Called by :class:`oncelog.broker.metadata.store.MetadataStore` and by the allocators of ids, on the broker's one thread.
"""

from __future__ import annotations

from contextlib import suppress

from oncelog.broker.metadata.metadata_file import MetadataFile
from oncelog.errors import StorageError

BLOCK_SIZE = 1000
"""The number of ids in a block (Kafka's ``ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE``)."""
RESERVED_AGAIN_AFTER = 100
"""The number of ids that are allocated before the next attempt to reserve a block, if the disk has refused it."""


class ProducerIds:
    """Allocates the producer ids of one metadata file: a block is stored in the file before its first id is
    allocated."""

    def __init__(self, file: MetadataFile) -> None:
        self._file = file
        self.end = 0
        """The first producer id after all blocks: neither this id nor a higher one has been allocated."""
        self._block = self._next_block = range(0)
        self.reserved_by = self._next_reserved_by = 0
        """The number of the metadata change that reserved the current block, and of the one that reserved the next."""

    def allocate_block(self) -> range:
        """A block of 1,000 producer ids that are never allocated again, not even after a restart."""
        first, after = self.end, self.end + BLOCK_SIZE
        self._file.set_meta("next_producer_id", str(after))
        self.end = after
        return range(first, after)

    def reserve(self, end: int) -> None:
        """Allocate no producer id below ``end`` from now on."""
        if end > self.end:
            self._file.set_meta("next_producer_id", str(end))
            self.end = end
        self._block, self._next_block = (
            range(max(end, block[0]), max(end, block[-1] + 1)) if block else block
            for block in (self._block, self._next_block)
        )

    def allocate(self) -> int:
        """The next producer id of the current block; ids of a block that are left at a stop are never allocated.

        If the caller syncs, the next block is reserved when half of the current one is used, so that no request waits
        for it (:meth:`reserve_next_block`).
        """
        if not self._block:
            self._block, self.reserved_by = self._next_block, self._next_reserved_by
            self._next_block = range(0)
        if not self._block:
            self._block, self.reserved_by = self.allocate_block(), self._file.changes
        first = self._block[0]
        self._block = self._block[1:]
        return first

    def reserve_next_block(self) -> None:
        """If the caller syncs the file, reserve the next block once half of the current one is used.

        A failure makes the store read the whole file again, so the next attempt is made only after
        ``RESERVED_AGAIN_AFTER`` more ids.
        """
        left = len(self._block)
        if not self._file.is_synced_by_caller or self._next_block or left > BLOCK_SIZE // 2:
            return
        if left % RESERVED_AGAIN_AFTER:
            return
        # the reservation is tried again, and its error raised, once the current block is used up
        with suppress(StorageError):
            self._next_block, self._next_reserved_by = self.allocate_block(), self._file.changes
