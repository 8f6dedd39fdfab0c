"""What ``oncelog promote`` says."""

from __future__ import annotations

from oncelog.cli.programs.promote import not_taken_over


def test_promote_reports_the_number_of_partitions_of_deleted_topics() -> None:
    """Each was a line of its own, and whoever tests a cluster has hundreds."""
    deleted = [f"t-{number}.{number:032x}-delete" for number in range(3)]
    assert not_taken_over(["notes.txt", *deleted]) == ["notes.txt", "3 partitions of deleted topics"]
    assert not_taken_over(["t-delete"]) == ["t-delete"]
