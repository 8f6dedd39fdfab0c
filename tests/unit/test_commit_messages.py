"""The rule for messages of commits, which the commit-msg hook and ``make check`` hold."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.commit_messages import FIRST, MAX_SUBJECT, commits, faults, main


@pytest.mark.parametrize(
    "message",
    [
        "a" * MAX_SUBJECT,
        "Subject\n\nBody, whose lines may be longer than the subject's: it is where the reasons and the figures are.\n",
        "\nSubject\n# a comment of git's editor\n\nBody\n",
    ],
)
def test_a_short_subject_and_a_body_after_a_blank_line_are_accepted(message: str) -> None:
    assert faults(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("a" * (MAX_SUBJECT + 1), "73 characters"),
        ("Subject\nBody\n", "second line"),
        ("Subject.\n", "full stop"),
        ("x\n\nWhat was meant to be the subject\n", "'x'"),
    ],
)
def test_any_other_commit_message_is_refused_with_the_reason(message: str, fault: str) -> None:
    assert fault in " ".join(faults(message))


def test_the_hook_reads_the_message_from_the_file_that_git_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text("Subject\n\nBody\n")
    assert main(["--file", str(file)]) == 0
    file.write_text("s" * 100)
    assert main(["--file", str(file)]) == 1
    assert "100 characters" in capsys.readouterr().err


def test_every_commit_after_the_first_is_checked(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", "-C", str(tmp_path), *identity, *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "--quiet")
    for subject in ("before", "second", "third"):
        git("commit", "--quiet", "--allow-empty", "-m", subject, "-m", "Body")
    first = git("rev-list", "--max-parents=0", "HEAD")
    assert [message for _, message in commits(tmp_path, first)] == ["third\n\nBody\n", "second\n\nBody\n"]
    shallow = [message.partition("\n")[0] for _, message in commits(tmp_path, FIRST)]
    assert shallow == ["third", "second", "before"]


def test_a_tree_without_history_has_no_commits(tmp_path: Path) -> None:
    assert commits(tmp_path / "absent", FIRST) == []
