"""What is missing, doubled, extra or out of order, in rows made by hand; and that runs on disk change nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from oncelog.apps.mirror.offset_map import Run
from oncelog.apps.verify.copy import sorting
from oncelog.apps.verify.copy.by_mirror import MirroredOffsets
from oncelog.apps.verify.copy.comparing import ComparedTopics, judge_missing, judge_order, match
from oncelog.apps.verify.copy.rows import (
    PAIR_BYTES,
    SEEN_BYTES,
    CannotIdentify,
    RecordIdentity,
    SourceRecord,
    by_place,
    key_hash,
    made_by,
    made_rows,
    parse_by,
    rows_of,
    value_and_headers,
)
from oncelog.apps.verify.copy.sorting import Runs
from oncelog.apps.verify.findings import Report
from oncelog.errors import ConfigError, OncelogError
from tests.support.made_logs import Judged, judged

Rows = list[tuple[int, int, bytes | None, bytes | None]]
"""Partition, offset, key and value of records."""
BY = parse_by("content")


def compare(
    folder: Path,
    source: Rows,
    dest: Rows,
    sides: ComparedTopics | None = None,
    run_rows: int = 3,
    by: RecordIdentity = BY,
) -> Judged:
    report = Report()
    sources, dests, pairs, missing, unsure = (
        Runs(folder, name, size, run_rows=run_rows)
        for name, size in (
            ("source", SEEN_BYTES),
            ("dest", SEEN_BYTES),
            ("pairs", PAIR_BYTES),
            ("missing", PAIR_BYTES),
            ("unsure", PAIR_BYTES),
        )
    )
    for runs, identify, records in ((sources, by.source, source), (dests, by.dest, dest)):
        for partition, offset, key, value in records:
            for row in rows_of(partition, ([offset], [key], [value], [()]), identify, by.content):
                runs.add(row)
    wanted = sides or ComparedTopics("a", "b", {0: 0, 1: 0})
    reported: list[int] = []
    counts = match(
        sources.merged(),
        dests.merged(),
        pairs,
        missing,
        unsure,
        wanted,
        report,
        lambda amount, text: reported.append(amount),
    )
    assert sum(reported) == len(source) + len(dest)
    judge_missing(missing, pairs, counts, wanted, report)
    judge_order(pairs, unsure, wanted, report)
    report.totals.matched = counts.matched
    return judged(report)


A, B, C, D = ((b"k", b"a"), (b"k", b"b"), (b"k", b"c"), (b"l", b"d"))
SOURCE: Rows = [(0, 0, *A), (0, 1, *B), (0, 2, *C), (0, 3, *D)]

CASES: dict[str, tuple[list[str], Rows]] = {
    "same": ([], SOURCE),
    "other offsets": ([], [(0, 5, *A), (0, 7, *B), (0, 8, *C), (0, 20, *D)]),
    "keys are apart": ([], [(0, 0, *D), (0, 1, *A), (0, 2, *B), (0, 3, *C)]),
    "missing": (["copy-missing"], [(0, 0, *A), (0, 1, *C), (0, 2, *D)]),
    "missing at the end": (["copy-missing"], [(0, 0, *A), (0, 1, *B), (0, 2, *C)]),
    "doubled": (["copy-doubled"], [*SOURCE, (0, 4, *D)]),
    "extra": (["copy-extra"], [*SOURCE, (0, 4, b"x", b"x")]),
    "out of order": (["copy-out-of-order"], [(0, 0, *B), (0, 1, *A), (0, 2, *C), (0, 3, *D)]),
}


@pytest.mark.parametrize("name", CASES)
def test_each_fault_of_a_copy_is_reported_by_name(tmp_path: Path, name: str) -> None:
    wanted, dest = CASES[name]
    found = compare(tmp_path, SOURCE, dest)
    assert (found.found, found.unknown, found.allowed) == (wanted, [], [])


def test_equal_records_must_occur_equally_often_in_source_and_copy(tmp_path: Path) -> None:
    twice: Rows = [(0, 0, *A), (0, 1, *A)]
    assert compare(tmp_path, twice, twice).found == []
    assert compare(tmp_path, twice, twice[:1]).found == ["copy-missing"]
    assert compare(tmp_path, twice, [*twice, (0, 2, *A)]).found == ["copy-doubled"]


def test_equal_records_are_compared_without_holding_them_all_in_memory(tmp_path: Path) -> None:
    """A topic of heartbeats, all alike, needs no more memory than another."""
    equal = [rows_of(0, ([number], [b"k"], [b"beat"], [()]), BY.source, BY.content)[0] for number in range(1000)]
    taken = [0, 0]
    apart: list[int] = []

    def rows(side: int) -> Iterator[bytes]:
        for row in equal:
            taken[side] += 1
            apart.append(abs(taken[0] - taken[1]))
            yield row

    pairs, missing, unsure = (Runs(tmp_path, name, PAIR_BYTES) for name in ("pairs", "missing", "unsure"))
    sides = ComparedTopics("a", "b", {0: 0})
    assert match(rows(0), rows(1), pairs, missing, unsure, sides, Report(), lambda amount, text: None).matched == 1000
    assert max(apart) == 1


def test_equal_records_that_cannot_be_distinguished_have_no_order(tmp_path: Path) -> None:
    over_partitions: Rows = [(0, 0, *B), (0, 1, *A), (1, 0, *A)]
    assert compare(tmp_path, over_partitions, [(0, 0, *A), (0, 1, *B), (0, 2, *A)]).found == []
    one_is_lost: Rows = [(0, 0, *A), (0, 1, *B), (0, 2, *A)]
    assert compare(tmp_path, one_is_lost, [(0, 0, *B), (0, 1, *A)]).found == ["copy-missing"]
    as_often: Rows = [(0, 0, *A), (0, 1, *A), (0, 2, *B)]
    assert compare(tmp_path, one_is_lost, as_often).found == ["copy-out-of-order"]


def test_a_record_that_an_open_transaction_may_hold_is_not_reported_missing(tmp_path: Path) -> None:
    for undecided, reported in ((2, ([], ["copy-undecided"])), (1, (["copy-missing"], []))):
        sides = ComparedTopics("a", "b", {0: 0}, undecided_offsets=undecided)
        assert compare(tmp_path, SOURCE, SOURCE[:2], sides)[:2] == reported


def test_a_damaged_sort_run_is_refused(tmp_path: Path) -> None:
    runs = Runs(tmp_path, "some", 8, run_rows=100)
    for number in range(300):
        runs.add(number.to_bytes(8, "big"))
    path = tmp_path / "some-1.run"
    path.write_bytes(path.read_bytes()[:-16])
    with pytest.raises(OncelogError, match=r"some-1\.run is not as it was written: remove the folder"):
        list(runs.merged())


def test_null_and_an_empty_value_are_different_in_a_comparison(tmp_path: Path) -> None:
    found = compare(tmp_path, [(0, 0, b"k", None), (0, 1, None, b"")], [(0, 0, b"k", b""), (0, 1, b"", b"")])
    assert set(found.found) == {"copy-missing", "copy-extra"}
    assert found.report.counts == {"copy-missing": 2, "copy-extra": 2}


def test_allowed_differences_are_reported_as_allowed(tmp_path: Path) -> None:
    short, more = SOURCE[:2], [*SOURCE, (0, 4, b"x", b"x")]
    lag = ComparedTopics("a", "b", {0: 0}, allows_lag=True)
    assert compare(tmp_path, SOURCE, short, lag)[:3] == ([], [], ["copy-behind"])
    assert compare(tmp_path, SOURCE, [SOURCE[0], SOURCE[3]], lag).found == ["copy-missing"]
    for sides in (
        ComparedTopics("a", "b", {0: 0}, allows_extra=True),
        ComparedTopics("a", "b", {0: 7}),
        ComparedTopics("a", "b", {0: 0}, source_compacted=True),
    ):
        assert compare(tmp_path, SOURCE, more, sides)[:3] == ([], [], ["copy-extra-allowed"])
    spread: Rows = [(0, 0, *A), (1, 0, *B), (0, 1, *C), (0, 2, *D)]
    assert compare(tmp_path, SOURCE, spread)[:3] == ([], [], ["copy-key-scattered"])


def test_compaction_of_the_copy_leaves_the_last_record_of_each_key_unless_it_is_a_tombstone(tmp_path: Path) -> None:
    compacted = ComparedTopics("a", "b", {0: 0}, dest_compacted=True)
    assert compare(tmp_path, SOURCE, SOURCE[2:], compacted)[:3] == ([], [], ["copy-missing-compacted"])
    without_the_last = compare(tmp_path, SOURCE, [SOURCE[0], SOURCE[3]], compacted)
    assert (without_the_last.found, without_the_last.report.counts["copy-missing"]) == (["copy-missing"], 2)
    assert compare(tmp_path, SOURCE, SOURCE[:3], compacted).found == ["copy-missing"]
    deleted: Rows = [*SOURCE, (0, 4, b"k", None)]
    assert compare(tmp_path, deleted, SOURCE[2:], compacted)[:3] == ([], [], ["copy-missing-compacted"])
    assert compare(tmp_path, deleted, SOURCE[3:], compacted)[:3] == ([], [], ["copy-missing-compacted"])
    written_again: Rows = [*deleted, (0, 5, *A)]
    assert compare(tmp_path, written_again, SOURCE[3:], compacted).report.counts["copy-missing"] == 1


def test_a_record_with_changed_content_is_found(tmp_path: Path) -> None:
    by_place_alone = RecordIdentity(by_place, by_place)
    copied: Rows = [(0, 0, *A), (0, 1, b"k", b"other"), (0, 2, b"another", b"c"), (0, 3, b"l", None)]
    found = compare(tmp_path, SOURCE, copied, by=by_place_alone)
    assert (found.found, found.unknown, found.allowed) == (["copy-altered"], [], [])
    details = [one.detail for one in found.report.findings()]
    assert [detail.rpartition(" ")[2] for detail in details] == ["value", "key", "value"]
    on_purpose = ComparedTopics("a", "b", {0: 0}, ignores_content=True)
    assert compare(tmp_path, SOURCE, copied, on_purpose, by=by_place_alone)[:3] == ([], [], [])
    assert compare(tmp_path, SOURCE, copied[:2], by=parse_by("key")).found == ["copy-altered", "copy-missing"]


def test_headers_are_part_of_the_comparison_with_a_mirror() -> None:
    plain, with_one = (value_and_headers(b"", b"v", headers) for headers in ((), (("h", b"1"),)))
    assert plain != with_one
    assert value_and_headers(b"", None, ()) == bytes(8)


@pytest.mark.parametrize("seed", range(20))
def test_the_size_of_sorted_runs_does_not_change_the_result(tmp_path: Path, seed: int) -> None:
    """Compared with a naive model, on random faults."""
    rng = random.Random(seed)
    source: Rows = [
        (number % 2, number // 2, b"k%d" % rng.randrange(4), b"v%d" % rng.randrange(30)) for number in range(80)
    ]
    copied = [row for row in source for _ in range(rng.choice([1, 1, 1, 1, 0, 2]))]
    rng.shuffle(copied)
    dest: Rows = [(0, number, row[2], row[3]) for number, row in enumerate(copied)]
    wanted = Counter(row[2:] for row in source)
    got = Counter(row[2:] for row in dest)
    for run_rows in (2, 7, 1000):
        counts = compare(tmp_path, source, dest, run_rows=run_rows).report.counts
        assert counts["copy-missing"] == (wanted - got).total()
        surplus = got - wanted
        assert counts["copy-doubled"] == sum(many for row, many in surplus.items() if row in wanted)
        assert counts["copy-extra"] == 0


def test_sorted_runs_beyond_the_limit_of_open_files_are_merged_in_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "MAX_FILES", 3)
    rows = [b"%03d" % (number * 7 % 100) for number in range(100)]
    runs = Runs(tmp_path, "some", 3, run_rows=5)
    for row in rows:
        runs.extend([row])
        if runs.is_full:
            runs.flush()
    assert len(runs.files) == 20
    assert list(runs.merged()) == sorted(rows)
    assert len(runs.files) <= 3
    runs.remove()
    assert list(tmp_path.iterdir()) == []


def test_records_are_identified_as_the_user_chooses() -> None:
    def same(way: str, source: SourceRecord, *dest: object) -> bool:
        by = parse_by(way)
        identity = by.source(source.partition, source.offset, source.key, source.value, source.headers)
        return identity == by.dest(*dest)  # type: ignore[arg-type]

    record = SourceRecord("a", 3, 17, 0, b"k", b"v", (("id", b"9"),))
    assert same("content", record, 0, 0, b"k", b"v", ())
    assert not same("content", record, 0, 0, b"k", b"other", ())
    assert same("key", record, 0, 0, b"k", b"other", ())
    assert same("header:id", record, 0, 0, None, b"other", (("id", b"1"), ("id", b"9")))
    for partition, offset in ((b"3", b"17"), ((3).to_bytes(4, "big"), (17).to_bytes(8, "big"))):
        assert same("offsets:p,o", record, 0, 0, None, None, (("p", partition), ("o", offset)))
    assert not same("offsets:p,o", record, 0, 0, None, None, (("p", b"3"), ("o", b"18")))
    for way, dest in (("key", (None, b"v", ())), ("header:id", (b"k", b"v", ())), ("offsets:p,o", (b"k", b"v", ()))):
        with pytest.raises(CannotIdentify):
            parse_by(way).dest(0, 0, *dest)
    with pytest.raises(CannotIdentify, match="is not a number"):
        parse_by("offsets:p,o").dest(0, 0, None, None, (("p", b"x"), ("o", b"1")))
    for wrong in ("", "contents", "header:", "offsets:p", "key:x"):
        with pytest.raises(ConfigError, match="--by takes content, key, header:NAME"):
            parse_by(wrong)


def test_a_mirrored_record_is_identified_by_the_offset_map() -> None:
    mapped = MirroredOffsets({0: [Run(10, 0, 5), Run(20, 7, 2)]})
    for offset, source in ((0, 10), (4, 14), (7, 20), (8, 21)):
        assert mapped.identify(0, offset, None, None, ()) == by_place(0, source, None, None, ())
    no_source = {mapped.identify(partition, offset, None, None, ()) for partition, offset in ((0, 5), (0, 9), (1, 0))}
    assert len(no_source) == 3
    assert by_place(0, 5, None, None, ()) not in no_source


def test_a_transform_may_return_no_record_one_or_several() -> None:
    record = SourceRecord("a", 0, 1, 0, b"k", b"v", (("h", b"1"),))
    assert made_by(lambda one: None, record) == []
    assert made_by(lambda one: one, record) == [(b"k", b"v", (("h", b"1"),))]
    assert made_by(lambda one: (one.key, b"w"), record) == [(b"k", b"w", ())]
    assert made_by(lambda one: [(b"a", None), (b"b", b"2", [("x", b"y")])], record) == [
        (b"a", None, ()),
        (b"b", b"2", (("x", b"y"),)),
    ]
    assert made_by(lambda one: iter([(b"a", None), (b"b", None)]), record) == [(b"a", None, ()), (b"b", None, ())]
    with pytest.raises(ConfigError, match=r"--transform failed at offset 1 of a-0: ZeroDivisionError: "):
        made_by(lambda one: 1 // 0, record)
    for wrong in ("text", ("k", "v"), b"v", [("k",)], (b"k", b"v", {"h": b"1"})):
        with pytest.raises(ConfigError, match=r"--transform returned .* for offset 1 of a-0"):
            made_by(lambda one: wrong, record)  # noqa: B023 - called at once


def test_several_records_that_a_transform_makes_of_one_record_are_matched_in_order(tmp_path: Path) -> None:
    by = parse_by("offsets:p,o")
    record = SourceRecord("a", 0, 7, 0, b"k", b"v", ())
    sources = made_rows([record], by, lambda one: [(b"k", b"2"), (b"k", b"1")])
    place = (("p", b"0"), ("o", b"7"))
    dests = rows_of(0, ([0, 1], [b"k"] * 2, [b"2", b"1"], [place] * 2), by.dest, by.content)
    pairs, missing, unsure = (Runs(tmp_path, name, PAIR_BYTES) for name in ("pairs", "missing", "unsure"))
    report, sides = Report(), ComparedTopics("a", "b", {0: 0})
    match(iter(sorted(sources)), iter(sorted(dests)), pairs, missing, unsure, sides, report, lambda amount, text: None)
    assert report.counts == {}
    swapped = made_rows([record], BY, lambda one: [(b"k", b"1"), (b"k", b"2")])
    by_content = rows_of(0, ([0, 1], [b"k"] * 2, [b"2", b"1"], [()] * 2), BY.dest, BY.content)
    match(
        iter(sorted(swapped)),
        iter(sorted(by_content)),
        pairs,
        missing,
        unsure,
        sides,
        report,
        lambda amount, text: None,
    )
    judge_order(pairs, unsure, sides, report)
    assert report.counts == {"copy-out-of-order": 1}


def test_records_without_a_key_have_no_order(tmp_path: Path) -> None:
    source: Rows = [(0, 0, None, b"a"), (0, 1, None, b"b")]
    assert compare(tmp_path, source, [(0, 0, None, b"b"), (0, 1, None, b"a")])[:3] == ([], [], [])
    assert key_hash(b"") != key_hash(None)
