"""The consumer's filter against a naive model (section "Consumer filter" of KIP-98)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oncelog.client.core.consumer.read_committed import filter_batches
from oncelog.records.batch import BatchBuilder, decode_records, iter_headers
from oncelog.records.control import encode_end_txn_marker


def data(producer: int, offset: int, count: int, transactional: bool) -> bytes:
    builder = BatchBuilder()
    for n in range(count):
        builder.append(1, None, b"%d" % (offset + n))
    return bytes(
        builder.build(
            base_offset=offset,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            transactional=transactional,
        )
    )


Step = tuple[str, int, int]


@given(
    st.lists(
        st.tuples(st.sampled_from(["write", "commit", "abort", "plain"]), st.integers(1, 3), st.integers(1, 3)),
        max_size=30,
    ),
    st.integers(0, 20),
)
def test_only_records_of_committed_transactions_and_records_outside_transactions_are_kept(
    steps: list[Step], start: int
) -> None:
    log: list[tuple[int, bytes | bytearray]] = []
    offset = 0
    open_: dict[int, int] = {}
    records: list[tuple[int, int | None]] = []
    aborted: list[tuple[int, int]] = []
    lost: list[tuple[int, int, int]] = []
    for kind, producer, count in steps:
        if kind in ("commit", "abort"):
            if kind == "abort" and producer in open_:
                aborted.append((open_[producer], producer))
                lost.append((open_[producer], offset, producer))
            open_.pop(producer, None)
            log.append((offset, encode_end_txn_marker(producer, 0, 0, kind == "commit", 1, offset)))
            offset += 1
            continue
        if kind == "write":
            open_.setdefault(producer, offset)
        if kind == "plain" and producer in open_:
            continue
        log.append((offset, data(producer, offset, count, kind == "write")))
        records += [(offset + n, producer if kind == "write" else None) for n in range(count)]
        offset += count
    stable = min(open_.values(), default=offset)
    expected = [
        at
        for at, producer in records
        if at < stable and not any(low <= at < high and producer == owner for low, high, owner in lost)
    ]
    buf = b"".join(batch for at, batch in log if at < stable)
    kept = filter_batches(buf, iter_headers(buf), aborted)
    found = [record.offset for position, _ in kept for record in decode_records(buf, position)]
    assert found == expected
    uncommitted = filter_batches(buf, iter_headers(buf), None)
    everything = [record.offset for position, _ in uncommitted for record in decode_records(buf, position)]
    assert everything == [at for at, _ in records if at < stable]


def test_a_producer_that_aborts_then_commits_in_one_answer_keeps_its_second_transaction() -> None:
    buf = (
        data(1, 0, 2, True)
        + encode_end_txn_marker(1, 0, 0, False, 1, 2)
        + data(1, 3, 2, True)
        + encode_end_txn_marker(1, 0, 0, True, 1, 5)
    )
    kept = [header.base_offset for _, header in filter_batches(buf, iter_headers(buf), [(0, 1)])]
    assert kept == [3]


def test_aborted_transactions_beyond_the_fetched_records_hide_no_record() -> None:
    buf = data(1, 10, 1, True) + encode_end_txn_marker(1, 0, 0, True, 1, 11)
    kept = [header.base_offset for _, header in filter_batches(buf, iter_headers(buf), [(12, 1), (50, 2)])]
    assert kept == [10]
