"""Which batches of a Delta table's log count after RESTORE and REPLACE TABLE, with actions of Delta's protocol."""

from __future__ import annotations

import json

import pytest

from oncelog.spark.tables.lake.delta_log import CommitHistory


def commit(*actions: tuple[str, str, str | None], batch: int | None = None, operation: str = "WRITE") -> str:
    """A commit's text: actions are (kind, path, deletion vector)."""
    info = {"operation": operation} | ({} if batch is None else {"oncelog": {"batchId": batch}})
    files = [
        {kind: {"path": path} | ({} if vector is None else {"deletionVector": {"pathOrInlineDv": vector}})}
        for kind, path, vector in actions
    ]
    return "\n".join(json.dumps(one) for one in ({"commitInfo": info}, *files))


def add(path: str, vector: str | None = None) -> tuple[str, str, str | None]:
    return "add", path, vector


def remove(path: str, vector: str | None = None) -> tuple[str, str, str | None]:
    return "remove", path, vector


def restore(*actions: tuple[str, str, str | None]) -> str:
    return commit(*actions, operation="RESTORE")


def batches(*oldest_first: str) -> list[int]:
    return [one["batchId"] for one in CommitHistory(reversed(oldest_first))]


APPENDED = [commit(add(f"f{number}"), batch=number) for number in range(4)]


def test_batches_that_a_restore_of_the_delta_table_removed_do_not_count_as_written() -> None:
    assert batches(*APPENDED) == [3, 2, 1, 0]
    assert batches(*APPENDED, restore(remove("f2"), remove("f3"))) == [1, 0]
    assert batches(*APPENDED, restore(*(remove(f"f{number}") for number in range(4)))) == []


def test_batches_written_after_a_restore_of_the_delta_table_count_as_written() -> None:
    again = commit(add("g"), batch=3)
    assert batches(*APPENDED, restore(remove("f3")), again) == [3, 2, 1, 0]
    undone = restore(remove("g"), add("f3"))
    assert batches(*APPENDED, restore(remove("f3")), again, undone) == [3, 2, 1, 0], "the first of the two"


def test_an_empty_batch_counts_as_written_if_the_table_was_restored_to_its_rows() -> None:
    assert batches(*APPENDED, commit(batch=4), commit(add("x")), restore(remove("x"))) == [4, 3, 2, 1, 0]


def test_compacted_and_overwritten_files_are_followed_in_the_delta_log() -> None:
    compacted = commit(*(remove(f"f{number}") for number in range(4)), add("c"), operation="OPTIMIZE")
    replaced = commit(remove("c"), add("all"), batch=4)
    assert batches(*APPENDED, compacted, replaced, restore(remove("all"), add("c"))) == [3, 2, 1, 0]
    back = restore(remove("all"), *(add(f"f{number}") for number in range(3)))
    assert batches(*APPENDED, compacted, replaced, back) == [2, 1, 0]


def test_a_deletion_vector_changes_the_state_of_a_file() -> None:
    deleted = commit(remove("f0"), add("f0", "v"), operation="DELETE")
    later = commit(add("f1"), batch=1)
    first = commit(add("f0"), batch=0)
    assert batches(first, deleted, later, restore(remove("f1"))) == [0]
    assert batches(first, deleted, later, restore(remove("f1"), remove("f0", "v"), add("f0"))) == [0]
    assert batches(first, later, deleted, restore(remove("f0", "v"), add("f0"))) == [1, 0]


def test_a_restore_to_a_version_that_the_history_lacks_is_recognised_as_a_restore() -> None:
    history = CommitHistory([restore(remove("f2"), remove("f3")), APPENDED[3]])
    assert list(history) == []
    assert history.undone


@pytest.mark.parametrize("operation", ["REPLACE TABLE", "CREATE OR REPLACE TABLE AS SELECT"])
def test_only_batches_after_the_replacement_of_the_delta_table_count_as_written(operation: str) -> None:
    """The names of the operations are Delta-Spark's."""
    replaced = commit(remove("f3"), add("g"), operation=operation)
    history = CommitHistory([replaced, APPENDED[3]])
    assert list(history) == []
    assert history.undone
    assert batches(*APPENDED, replaced, commit(add("h"), batch=4)) == [4]
