"""The longest iteration of the broker's loop: for how long one client's request keeps all others waiting.

    python -m benchmarks.iterations [CASE ...]

Each case asks for as much as one client may, against a broker with 10,000 partitions in a process of its own that takes
the CPU time of each iteration. Iterations that only read a client's bytes count too. Where a case names the elements of
its request, the second column is the longest iteration divided by them: the limits of elements (``registry``) follow
from it.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection as Pipe
from typing import Any

from benchmarks.load import BenchmarkError
from benchmarks.raw import holders_of_errors
from oncelog.apps.conformance.raw.batches import ZSTD, batch, record
from oncelog.apps.conformance.raw.bodies import RawFetchPosition
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.broker.server.listener_settings import Address, Listener, parse_listeners
from oncelog.broker.server.serve import serve as oncelog_serve
from oncelog.errors import Error
from oncelog.protocol.generated.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from oncelog.protocol.generated.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from oncelog.protocol.generated.create_acls_request import AclCreation, CreateAclsRequest
from oncelog.protocol.generated.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from oncelog.protocol.generated.create_topics_request import CreatableTopic, CreateTopicsRequest
from oncelog.protocol.generated.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.protocol.generated.describe_groups_request import DescribeGroupsRequest
from oncelog.protocol.generated.describe_log_dirs_request import DescribeLogDirsRequest
from oncelog.protocol.generated.end_txn_request import EndTxnRequest
from oncelog.protocol.generated.find_coordinator_request import FindCoordinatorRequest
from oncelog.protocol.generated.init_producer_id_request import InitProducerIdRequest
from oncelog.protocol.generated.list_groups_request import ListGroupsRequest
from oncelog.protocol.generated.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from oncelog.protocol.generated.list_transactions_request import ListTransactionsRequest
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.protocol.generated.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from oncelog.protocol.generated.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from oncelog.protocol.wire import Message

PARTITIONS = 10_000
MB = 1024 * 1024
WITH_ACLS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
Case = Callable[[RawConnection], Any]


def serve(folder: str, pipe: Pipe) -> None:
    """In the broker's process: times every iteration; on request it sends the longest since the last request."""
    sys.modules["uvloop"] = None  # type: ignore[assignment]  # its iterations cannot be timed
    longest = [0.0]
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        begin = time.thread_time()
        run(handle)
        longest[0] = max(longest[0], time.thread_time() - begin)

    asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]

    def report() -> None:
        while pipe.recv():
            pipe.send(longest[0] * 1000)
            longest[0] = 0.0
        os.kill(os.getpid(), signal.SIGTERM)

    def announce(bound: Sequence[Listener], _: Address | None) -> None:
        pipe.send(str(bound[0].address))
        threading.Thread(target=report, daemon=True).start()

    oncelog_serve(parse_listeners("127.0.0.1:0", {}, ""), folder, WITH_ACLS, announce=announce)


def accepted(client: RawConnection, request: Message, version: int) -> Any:
    """Ask, and read the answer: a case that was refused would be measured as a short one."""
    answer = client.ask(request, version)
    found = Counter(holder.error_code for holder in holders_of_errors(answer))
    if refused := {Error(code).name: count for code, count in found.items() if code}:
        raise BenchmarkError(f"{type(request).__name__} was answered with {refused}")
    return answer


def _topics(client: RawConnection) -> None:
    names = [f"t{number}" for number in range(1000)]
    accepted(client, CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in names], 60_000), 7)
    accepted(client, DeleteTopicsRequest(topics=[DeleteTopicState(name) for name in names], timeout_ms=60_000), 6)


def _partitions(client: RawConnection) -> None:
    client.create_topic("grows")
    accepted(client, CreatePartitionsRequest([CreatePartitionsTopic("grows", 2000, None)], 60_000, False), 3)
    accepted(client, DeleteTopicsRequest(topics=[DeleteTopicState("grows")], timeout_ms=60_000), 6)


def _first_use(client: RawConnection) -> None:
    accepted(client, FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]), 4)
    accepted(client, FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)


def _list_offsets(client: RawConnection) -> None:
    asked = [ListOffsetsPartition(index, -1, -1) for index in range(PARTITIONS)]
    accepted(client, ListOffsetsRequest(-1, 0, [ListOffsetsTopic("wide", asked)]), 7)


def _commit(client: RawConnection) -> None:
    client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["committing"]), 4)
    committed = [OffsetCommitRequestPartition(index, 1, -1, "") for index in range(PARTITIONS)]
    accepted(
        client, OffsetCommitRequest("committing", topics=[OffsetCommitRequestTopic("wide", partitions=committed)]), 8
    )


def _offset_fetch(client: RawConnection) -> None:
    topics = [OffsetFetchRequestTopics("wide", partition_indexes=list(range(PARTITIONS)))]
    accepted(client, OffsetFetchRequest(groups=[OffsetFetchRequestGroup("committing", topics=topics)]), 8)


def _produce(client: RawConnection) -> None:
    client.produce_all({("wide", index): batch(b"v") for index in range(PARTITIONS)})


def _fetch(client: RawConnection) -> None:
    client.fetch_all({("wide", index): RawFetchPosition(0, MB) for index in range(PARTITIONS)})


def _bomb(client: RawConnection) -> None:
    import zstandard

    packed = zstandard.compress(record(b"v" * 100) * 150_000)
    client.produce("one", batch(records=packed, count=150_000, attributes=ZSTD))


def _transaction(client: RawConnection) -> None:
    accepted(client, FindCoordinatorRequest(key_type=1, coordinator_keys=["iterations"]), 4)
    given = accepted(client, InitProducerIdRequest(transactional_id="iterations", transaction_timeout_ms=60_000), 4)
    topics = [AddPartitionsToTxnTopic("wide", list(range(PARTITIONS)))]
    producer = given.producer_id, given.producer_epoch
    accepted(client, AddPartitionsToTxnRequest([], "iterations", *producer, topics), 3)
    accepted(client, EndTxnRequest("iterations", *producer, True), 3)


def _acls(client: RawConnection) -> None:
    accepted(
        client, CreateAclsRequest([AclCreation(2, f"n{number}", 3, "User:a", "*", 3, 3) for number in range(5000)]), 3
    )


def _quotas(client: RawConnection) -> None:
    entries = [
        EntryData([EntityData("user", f"u{number}")], [OpData("producer_byte_rate", 1e6, False)])
        for number in range(2000)
    ]
    accepted(client, AlterClientQuotasRequest(entries, False), 1)
    entries = [
        EntryData([EntityData("user", f"u{number}")], [OpData("producer_byte_rate", 0.0, True)])
        for number in range(2000)
    ]
    accepted(client, AlterClientQuotasRequest(entries, False), 1)


CASES: dict[str, Case] = {
    "first use of both coordinators": _first_use,
    "Metadata of all topics": lambda client: client.ask(MetadataRequest(topics=None), 12),
    "1,000 topics made and deleted": _topics,
    "2,000 partitions added and deleted": _partitions,
    "ListOffsets of 10,000 partitions": _list_offsets,
    "OffsetCommit of 10,000 partitions": _commit,
    "OffsetFetch of all of a group": lambda client: accepted(
        client, OffsetFetchRequest(groups=[OffsetFetchRequestGroup("committing", topics=None)]), 8
    ),
    "OffsetFetch of 10,000 partitions": _offset_fetch,
    "Metadata of 10,000 topics": lambda client: client.ask(
        MetadataRequest([MetadataRequestTopic(name=f"n{number}") for number in range(PARTITIONS)], False), 12
    ),
    "Produce to 10,000 partitions": _produce,
    "Fetch of 10,000 partitions": _fetch,
    "a transaction over 10,000 partitions": _transaction,
    "FindCoordinator of 10,000 keys": lambda client: client.ask(
        FindCoordinatorRequest(key_type=0, coordinator_keys=[f"g{number}" for number in range(PARTITIONS)]), 4
    ),
    "DescribeGroups of 10,000 groups": lambda client: client.ask(
        DescribeGroupsRequest(groups=[f"g{number}" for number in range(PARTITIONS)]), 5
    ),
    "DescribeConfigs of 1,000 topics": lambda client: client.ask(
        DescribeConfigsRequest([DescribeConfigsResource(2, "wide", None)] * 1000, True, False), 4
    ),
    "DescribeLogDirs of all": lambda client: client.ask(DescribeLogDirsRequest(None), 4),
    "ListGroups, ListTransactions": lambda client: (
        client.ask(ListGroupsRequest([], []), 5),
        client.ask(ListTransactionsRequest(), 1),
    ),
    "5,000 ACLs": _acls,
    "2,000 quotas set and removed": _quotas,
    "a batch that unpacks to 16 MB": _bomb,
    "a record of 900 KB": lambda client: client.produce("one", batch(b"v" * 900_000)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.iterations", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("case", nargs="*", help="words of the cases to run; all of them by default")
    words = parser.parse_args(arguments).case
    folder = tempfile.mkdtemp(prefix="oncelog-iterations-")
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(folder, theirs))
    process.start()
    try:
        servers = ours.recv()

        def longest_ms() -> float:
            ours.send(True)
            return float(ours.recv())

        with RawConnection(servers, timeout_s=120) as client:
            client.create_topic("wide", partitions=PARTITIONS // 2)  # one request creates fewer than 10,000
            client.ask(CreatePartitionsRequest([CreatePartitionsTopic("wide", PARTITIONS, None)], 60_000, False), 3)
            client.create_topic("one")
            for name, case in CASES.items():
                if words and not any(word in name for word in words):
                    continue
                longest_ms()
                case(client)
                found_ms = longest_ms()
                of_each = f"{found_ms * 1000 / PARTITIONS:>8.1f} us" if "10,000" in name else ""
                print(f"{name:<52}{found_ms:>8.1f} ms{of_each}", flush=True)
    finally:
        ours.send(False)
        process.join(60)
        process.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
