"""The catalogue of planted bugs. ``make mutants`` shows within how many seeds the simulation finds each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.simulation.planting import Mutant

_ENTRIES = "encode_snapshot(state.entries.values())"
_ENTRIES_BEFORE = (
    "encode_snapshot([type(e)(e.producer_id, e.producer_epoch, e.coordinator_epoch, e.last_timestamp, "
    "e.current_txn_first_offset, e.batches[:-1]) for e in state.entries.values()])"
)

IDEMPOTENCE: Sequence[Mutant] = (
    Mutant(
        "sequences are not checked",
        "log.producer_rules:_out_of_sequence",
        "return a.header.base_sequence != (0 if last == MAX_SEQUENCE else last + 1)",
        "return False",
    ),
    Mutant(
        "a repeated batch is not recognised",
        "log.producer_entry:ProducerStateEntry.duplicate_of",
        "if header.producer_epoch == self.producer_epoch:",
        "if header.producer_epoch != self.producer_epoch:",
    ),
    Mutant(
        "only the last batch is remembered",
        "log.producer_state:ProducerStateManager.apply_data",
        "if len(batches) > BATCHES_KEPT:",
        "if len(batches) > 1:",
    ),
    Mutant(
        "four batches are remembered",
        "log.producer_state:ProducerStateManager.apply_data",
        "if len(batches) > BATCHES_KEPT:",
        "if len(batches) > 4:",
    ),
    Mutant("a snapshot is one batch old", "log.snapshots:SnapshotFiles.take", _ENTRIES, _ENTRIES_BEFORE),
    Mutant(
        "a restart forgets producers",
        "log.producer_state:ProducerStateManager.load",
        "if not self._expired(entry, now_ms):",
        "if entry.current_txn_first_offset != NONE_OPEN:",
    ),
    Mutant(
        "recovery forgets producers",
        "log.recovery:_Loader.take_scanned",
        "self.state.apply_data(header, header.base_offset)",
        "self.state.skip_to(header.next_offset)",
    ),
    Mutant(
        "producer ids are given out again after a restart",
        "metadata.store:MetadataStore.allocate_producer_id_block",
        "self._execute(\"UPDATE meta SET value = ? WHERE key = 'next_producer_id'\", str(after))",
        "pass",
    ),
)
CLIENT: Sequence[Mutant] = (
    Mutant(
        "a retry is renumbered",
        "client.core.transaction_manager:TransactionManager.may_drain",
        "return sequence.first_in_flight == batch.sequence",
        "sequence.remove(batch)",
    ),
    Mutant(
        "a retry goes behind newer batches",
        "client.core.accumulator:Accumulator.put_back",
        "queue.insert(position, batch)",
        "queue.append(batch)",
    ),
    Mutant(
        "a new epoch begins while an old batch may be stored",
        "client.core.transaction_manager:TransactionManager._bump_locally",
        "if not all(batch.refused for batch in self.book.of(partition).in_flight):",
        "if False:",
    ),
    Mutant(
        "a failed record does not abort its transaction",
        "client.core.transaction_manager:TransactionManager.failed",
        "self._to_abortable(error)",
        "pass",
    ),
    Mutant(
        "the end of a transaction does not wait for its records",
        "client.core.transaction_manager:TransactionManager.poll",
        "if self._accumulator.incomplete:",
        "if False:",
    ),
    Mutant(
        "a transaction's end keeps the old epoch",
        "client.core.transaction_manager:TransactionManager._transaction_over",
        "if stamp is not None:",
        "if False:",
    ),
    Mutant(
        "an aborted batch is shown if it is alone",
        "client.core.read_committed:AbortedFilter.keeps",
        "self._pending[0][0] <= header.last_offset",
        "self._pending[0][0] < header.last_offset",
    ),
    Mutant(
        "an abort marker does not end the skipping",
        "client.core.read_committed:AbortedFilter.keeps",
        "if control_type is ControlType.ABORT:",
        "if False:",
    ),
    Mutant(
        "the reader does not look at aborted transactions",
        "client.core.fetcher:Fetcher._keep",
        "if self._config.read_committed:",
        "if False:",
    ),
    Mutant(
        "an answer for a position that was left is taken",
        "client.core.fetcher:Fetcher._take",
        "if state is None or state.version != asked[0] or state.fetch_position != asked[1]:",
        "if state is None:",
    ),
    Mutant(
        "the position passes the end of what was fetched",
        "client.core.fetcher:Fetcher._keep",
        "kept, last.next_offset,",
        "kept, last.next_offset + (len(headers) > 3),",
    ),
)
LAST_STABLE_OFFSET: Sequence[Mutant] = (
    Mutant(
        "the last stable offset is the high watermark",
        "log.partition_log:PartitionLog.last_stable_offset",
        "if unstable is None:",
        "if True:",
    ),
    Mutant(
        "a committed transaction is stable before its marker is replicated",
        "log.partition_log:PartitionLog.last_stable_offset",
        "unstable = self._state.first_unstable_offset",
        "unstable = self._state.first_undecided_offset",
    ),
    Mutant(
        "the last stable offset stays where a transaction was",
        "log.producer_state:ProducerStateManager.replicated_to",
        "while unreplicated and unreplicated[0][0] < high_watermark:",
        "while False:",
    ),
    Mutant(
        "a restart forgets open transactions",
        "log.producer_state:ProducerStateManager.load",
        "self._ongoing = dict(open_transactions)",
        "self._ongoing = {}",
    ),
    Mutant(
        "readers of committed records read to the high watermark",
        "broker.apis.fetch_reading:read_partition",
        "bound = partition.readable_to(isolation)",
        "bound = partition.readable_to(IsolationLevel.READ_UNCOMMITTED)",
    ),
)
ABORTED: Sequence[Mutant] = (
    Mutant(
        "no entry in the transaction index",
        "log.partition_log:PartitionLog.append_marker",
        "if done is not None and done.aborted:",
        "if False:",
    ),
    Mutant(
        "recovery makes no entry in the transaction index",
        "log.recovery:_apply_marker",
        "if done is not None and done.aborted and aborted is not None:",
        "if False:",
    ),
    Mutant(
        "the transaction index is not written",
        "log.segment:Segment.write_indexes",
        "(2, TRANSACTION_INDEX_SUFFIX, self._transaction_index),",
        "",
    ),
    Mutant(
        "the search in the transaction index ends at the first entry",
        "log.producer_state:ProducerStateManager.apply_marker",
        "stable = next(iter(self._ongoing), offset + 1)",
        "stable = 2**62",
    ),
    Mutant(
        "an answer names no aborted transactions",
        "broker.apis.fetch_reading:read_partition",
        "        if isolation is IsolationLevel.READ_COMMITTED:",
        "        if False:",
    ),
    Mutant(
        "aborted transactions are looked up in one segment",
        "log.segment_list:SegmentList.aborted_transactions",
        "range(self.number_of(offset), len(self._segments))",
        "range(self.number_of(offset), self.number_of(offset) + 1)",
    ),
)
COORDINATOR: Sequence[Mutant] = (
    Mutant(
        "markers are not sent again at load",
        "coordinator.transaction.shard:TransactionShard.loaded",
        "if entry.txn.state in PREPARED:",
        "if False:",
    ),
    Mutant(
        "a marker that failed is not sent again",
        "coordinator.transaction.shard:TransactionShard._markers_written",
        "error not in MARKER_DONE",
        "False",
    ),
    Mutant(
        "every marker commits",
        "coordinator.transaction.shard:TransactionShard._send_markers",
        "commit=txn.state is TransactionState.PREPARE_COMMIT,",
        "commit=True,",
    ),
    Mutant(
        "one partition gets its marker",
        "coordinator.transaction.shard:TransactionShard._send_markers",
        "partitions=unmarked,",
        "partitions=unmarked[:1],",
    ),
    Mutant(
        "a prepared transaction is acknowledged before it is stored",
        "coordinator.transaction.shard:TransactionShard._persist",
        "committed.then(settled)",
        "settled(Error.NONE)",
    ),
    Mutant(
        "the epoch is not bumped for a new instance",
        "coordinator.transaction.rules:_renew",
        "epoch += 1",
        "epoch += 0",
    ),
    Mutant(
        "the epoch is not bumped at a transaction's end",
        "coordinator.transaction.rule_parts:prepare_and_bump",
        "epoch=min(txn.producer_epoch + 1, MAX_EPOCH),",
        "epoch=txn.producer_epoch,",
    ),
    Mutant(
        "a transaction forgets its first partitions",
        "coordinator.transaction.rules:_add",
        "partitions=txn.partitions | event.partitions,",
        "partitions=event.partitions,",
    ),
    Mutant(
        "a partition that joins is not written down",
        "coordinator.transaction.rules:_add",
        "if ongoing and event.partitions <= txn.partitions:",
        "if ongoing:",
    ),
    Mutant(
        "transactions never time out",
        "coordinator.transaction.rules:_time_out",
        "if not txn.timed or txn.start_ms + txn.timeout_ms >= now_ms:",
        "if True:",
    ),
    Mutant(
        "verification guard ignored",
        "log.producer_rules:_not_verified",
        "if not a.verify or not a.header.is_transactional:",
        "if True:",
        too=(("broker.appending.verification:verify_transaction", "if guard is None:", "if True:"),),
    ),
    Mutant(
        "a start goes on below the epochs of coordinators that took over",
        "broker.nodes:BrokerNodes._lead",
        "self._broker.metadata.leads_with(*topic_partition, epoch)",
        "pass",
    ),
    Mutant(
        "old epochs may write",
        "log.producer_rules:_is_older",
        "return entry is not None and producer_epoch < entry.producer_epoch",
        "return False",
    ),
)
GROUPS: Sequence[Mutant] = (
    Mutant(
        "offsets are committed outside of the transaction",
        "coordinator.group.offsets:OffsetStore.hold",
        "self._pending.setdefault(producer_id, {})[place] = committed",
        "return self.commit(place, committed)",
    ),
    Mutant(
        "an aborted transaction's offsets are committed",
        "coordinator.group.offsets:OffsetStore.replay_marker",
        "if marker.commit:",
        "if True:",
    ),
    Mutant(
        "a committed transaction's offsets are dropped",
        "coordinator.group.offsets:OffsetStore.replay_marker",
        "if marker.commit:",
        "if False:",
    ),
    Mutant(
        "markers are passed over when a coordinator loads",
        "coordinator.runtime:CoordinatorRuntime.replay",
        "shard.replay_marker(entry)",
        "pass",
    ),
    Mutant(
        "a member of an old generation commits",
        "coordinator.group.offset_requests:OffsetRequests._may_commit_in_transaction",
        "return verdict.error if refused else consumer_rules.any_partition",
        "return consumer_rules.any_partition",
    ),
)
DURABILITY: Sequence[Mutant] = (
    Mutant(
        "acknowledged before the sync",
        "broker.partition:Partition._appended",
        "if not self._sync_before_commit:",
        "if True:",
    ),
    Mutant(
        "a run is acknowledged before the sync",
        "broker.partition:Partition.append_run",
        "if not self._sync_before_commit:",
        "if True:",
    ),
    Mutant(
        "a sync covers what came after it",
        "broker.partition:Partition.flushed",
        "self._advance(self._written_or_synced)",
        "self._advance(self.log.log_end_offset)",
    ),
    Mutant(
        "a closed segment is not synced",
        "log.partition_log:PartitionLog.begin_flush",
        "for segment in self._segments.from_offset(self.flushed_offset) if segment.size_bytes]",
        "for segment in [self._segments.active] if segment.size_bytes]",
    ),
    Mutant(
        "a new file's folder is not synced",
        "log.partition_log:PartitionLog.begin_flush",
        "(self.folder,) if self._folder_unsynced else ()",
        "()",
    ),
    Mutant(
        "a start after a crash checks nothing",
        "log.recovery:load",
        "if not clean_shutdown:",
        "if False:",
    ),
)
NODES: Sequence[Mutant] = (
    Mutant(
        "the high watermark does not wait for replicas",
        "broker.cluster:Replicas.committed",
        "if not self.stalled:",
        "if True:",
    ),
    Mutant(
        "a replica out of sync is elected",
        "broker.cluster:Cluster._candidates",
        "return clean or (alive if unclean else [])",
        "return alive[::-1]",
    ),
    Mutant(
        "who does not lead appends",
        "broker.broker:Broker.led_partition",
        "return Error.NOT_LEADER_OR_FOLLOWER",
        "pass",
    ),
    Mutant(
        "a coordinator that moved is not loaded",
        "broker.coordinators:Coordinators.moved",
        "if has_leader and target is not None:",
        "if False:",
    ),
)
COMPACTION: Sequence[Mutant] = (
    Mutant(
        "compaction keeps the oldest record of a key",
        "log.compaction:Compaction._stays",
        "record.offset < newest.get(record.key, -1)",
        "record.offset > newest.get(record.key, record.offset)",
    ),
    Mutant(
        "an aborted record is the newest of its key",
        "log.compaction:Compaction._newest_offsets",
        "elif not transactions.is_aborted(header) and header.last_offset >= self._dirty_from:",
        "elif header.last_offset >= self._dirty_from:",
    ),
    Mutant(
        "compaction passes the last stable offset",
        "log.compaction:_cleanable",
        "if end > log.last_stable_offset or (",
        "if (",
    ),
    Mutant(
        "compaction leaves aborted records",
        "log.compaction:Compaction._kept",
        "if transactions.is_aborted(header):",
        "if transactions.is_aborted(header) and False:",
    ),
    Mutant(
        "tombstones go at once",
        "log.compaction:Compaction._stays",
        "return record.value is not None or not past_horizon",
        "return record.value is not None",
    ),
    Mutant(
        "the last batch of a producer is compacted away",
        "log.compaction:Compaction._empty",
        "if newest or only_marker:",
        "if only_marker:",
    ),
    Mutant(
        "a rewritten segment is not synced",
        "log.compaction:Compaction.run",
        "for file in self._files:",
        "for file in self._files[:0]:",
    ),
    Mutant(
        "the cleaner's checkpoint outlives its segments",
        "broker.cleaner:Cleaner._start",
        "self._background.run(lambda: self._disk.sync_folder(log.folder), synced)",
        "self._background.run(lambda: None if self._disk and log.folder else None, synced)",
    ),
)

FOUND_BY: Mapping[str, int] = {
    "sequences are not checked": 9,
    "a repeated batch is not recognised": 9,
    "only the last batch is remembered": 9,
    "four batches are remembered": 9,
    "a snapshot is one batch old": 214,
    "a restart forgets producers": 214,
    "recovery forgets producers": 15,
    "producer ids are given out again after a restart": 106,
    "a retry is renumbered": 25,
    "a retry goes behind newer batches": 19,
    "a new epoch begins while an old batch may be stored": 35,
    "a failed record does not abort its transaction": 93,
    "the end of a transaction does not wait for its records": 7,
    "a transaction's end keeps the old epoch": 7,
    "an aborted batch is shown if it is alone": 7,
    "an abort marker does not end the skipping": 7,
    "the reader does not look at aborted transactions": 7,
    "an answer for a position that was left is taken": 25,
    "the position passes the end of what was fetched": 7,
    "the last stable offset is the high watermark": 7,
    "a committed transaction is stable before its marker is replicated": 131,
    "the last stable offset stays where a transaction was": 7,
    "a restart forgets open transactions": 65,
    "readers of committed records read to the high watermark": 7,
    "no entry in the transaction index": 7,
    "recovery makes no entry in the transaction index": 15,
    "the transaction index is not written": 75,
    "the search in the transaction index ends at the first entry": 7,
    "an answer names no aborted transactions": 7,
    "aborted transactions are looked up in one segment": 14,
    "markers are not sent again at load": 13,
    "a marker that failed is not sent again": 13,
    "every marker commits": 7,
    "one partition gets its marker": 7,
    "a prepared transaction is acknowledged before it is stored": 79,
    "the epoch is not bumped for a new instance": 174,
    "the epoch is not bumped at a transaction's end": 127,
    "a transaction forgets its first partitions": 7,
    "a partition that joins is not written down": 224,
    "transactions never time out": 7,
    "verification guard ignored": 76,
    "a start goes on below the epochs of coordinators that took over": 3572,
    "old epochs may write": 9,
    "offsets are committed outside of the transaction": 212,
    "an aborted transaction's offsets are committed": 212,
    "a committed transaction's offsets are dropped": 78,
    "markers are passed over when a coordinator loads": 160,
    "a member of an old generation commits": 1326,
    "acknowledged before the sync": 60,
    "a run is acknowledged before the sync": 79,
    "a sync covers what came after it": 672,
    "a closed segment is not synced": 20,
    "a new file's folder is not synced": 60,
    "a start after a crash checks nothing": 15,
    "the high watermark does not wait for replicas": 131,
    "a replica out of sync is elected": 991,
    "who does not lead appends": 237,
    "a coordinator that moved is not loaded": 13,
    "compaction keeps the oldest record of a key": 8,
    "an aborted record is the newest of its key": 8,
    "compaction passes the last stable offset": 280,
    "compaction leaves aborted records": 8,
    "tombstones go at once": 24,
    "the last batch of a producer is compacted away": 56,
    "a rewritten segment is not synced": 8,
    "the cleaner's checkpoint outlives its segments": 8,
}
"""For each mutant a seed that fails with it and passes without it. ``make mutants`` tries it first."""

CATALOGUE: Sequence[Mutant] = (
    *IDEMPOTENCE,
    *CLIENT,
    *LAST_STABLE_OFFSET,
    *ABORTED,
    *COORDINATOR,
    *GROUPS,
    *DURABILITY,
    *NODES,
    *COMPACTION,
)
