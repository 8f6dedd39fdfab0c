"""Parses English messages of Spark and Java, where Spark has no error code, and for messages to users. Pure.

If Spark changes a wording, the function returns None or False, and its caller assumes the safer case: the batch is
computed again, or the error is final.
"""

from __future__ import annotations

import re

_STAGE_FAILED = "Could not recover from a failed barrier ResultStage"
_REASON = "Most recent failure reason:"
_WORKER_WAS_LATE = re.compile("Python worker (failed )?to connect back")


def lost_writer(error: Exception) -> str | None:
    """Spark's reason why a barrier stage has ended, if a writer, its Python worker or its executor died. None for
    another failure of the job, which is final. Seen on 3.5.9 to 4.3.0."""
    _, found, rest = str(error).partition(_STAGE_FAILED)
    if not found:
        return None
    return rest.partition(_REASON)[2].strip().partition("\n")[0] or "see Spark's log"


def was_idle(reason: str) -> bool:
    """Whether the driver has ended an executor because it was idle, as dynamic allocation does. Seen on 3.5.9 to
    4.3.0.
    """
    return reason == "Executor killed by driver."


def worker_was_late(error: Exception) -> bool:
    """Whether Spark gave up on a Python worker that had ten seconds to connect. Seen on 3.5.9 to 4.3.0."""
    return _WORKER_WAS_LATE.search(str(error)) is not None


_SOURCES_CHANGED = re.compile(r"There are \[(\d+)\] sources in the checkpoint offsets and now there are \[(\d+)\]")
_RAISED = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)", re.MULTILINE)
"""Matches the error that a user's function or a library raised in a worker, after its traceback."""
_PYSPARK = re.compile(r"^(?:pyspark\.errors\.[\w.]+|: (?:[\w$]+\.)+[\w$]+): (.+)$", re.MULTILINE)
"""Spark's error inside a Python function that Spark has called, through PySpark or py4j; the group is Spark's own
message."""
_WRAPPING = ("[STREAM_FAILED]", "An exception was raised by the Python Proxy", "An error occurred while calling")
_JAVA = re.compile(r"(?:^|\n)(?:Caused by: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ([^\n]+)")


def sources_changed(text: str) -> tuple[str, str] | None:
    """The checkpoint's and the query's numbers of sources, if Spark refuses the query because they differ."""
    found = _SOURCES_CHANGED.search(text)
    return None if found is None else (found[1], found[2])


_MISSING_STATE_FILE = re.compile(r"FileNotFoundException: (?:File )?(\S+/state/\d+/\S+)")
_UNREADABLE_STATE = re.compile(
    r"\[(?:CANNOT_LOAD_STATE_STORE\.(?:CANNOT_READ|CANNOT_FIND|UNEXPECTED_FILE_SIZE|SNAPSHOT_PARTITION)\w*"
    r"|STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY|STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED)\] ([^\n]+)"
)


def lost_state(text: str) -> str:
    """Why Spark cannot load the state of a query, if files of its checkpoint's folder ``state`` are missing or damaged,
    with advice; empty for another error. Seen on 4.3.0."""
    if missing := _MISSING_STATE_FILE.search(text):
        why = f"{missing[1]} is missing"
    elif unreadable := _UNREADABLE_STATE.search(text):
        why = re.sub(r"\s*SQLSTATE: \w+", "", unreadable[1]).strip().rstrip(".")
    else:
        return ""
    return (
        f"Spark cannot load the state of the query ({why}): restore the checkpoint's folder state as it was after the "
        "last batch, or compute all results again, with a new checkpoint that begins at the first offsets, and write "
        "them to a new topic or table (a table with mode upsert may be the same); without the state, results would be "
        "wrong"
    )


def first_cause(text: str) -> str:
    """The sentence in Spark's long message that names the problem; the first line if there is none."""
    causes = _PYSPARK.findall(text)[:1] or [cause for cause in _JAVA.findall(text) if "Job aborted" not in cause]
    wrapped = text.startswith(_WRAPPING)
    first = causes[-1] if causes and wrapped else text.strip().split("\n", 1)[0]
    if first.endswith("from the Python worker:") and (raised := _RAISED.search(text)):
        first += f" {raised[1]}"
    return re.sub(r"\s*SQLSTATE: \w+", "", first).strip().rstrip(";")
