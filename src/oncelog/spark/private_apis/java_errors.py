"""The text of an error of Spark's JVM, as ``for_each_batch`` raises it. Pure.

When a query was stopped, Spark searches the text of the error of its function for ``py4j.protocol.Py4JJavaError: An
error occurred while calling``, followed by any text and the exception of an interrupted thread
(``StreamExecution.PROXY_ERROR``). Java's matcher needs stack space for each character of that text: 2000 characters,
which every Java stack trace has, end in a StackOverflowError. So the text of an interruption is kept short, and no
other error's text begins with these words.
"""

from __future__ import annotations

import re

INTERRUPTIONS = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
)
"""The exceptions by which Spark recognises that a stop has interrupted a query."""
MAX_CHARS = 4000
"""Maximum number of characters in the text."""
_MAX_INTERRUPTED = 300


def shortened(text: str) -> str:
    """The text of a JVM's error for a ``Py4JError``: without the frames of Java's stack, and without its middle if it
    is long."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith(("\tat ", "\t... ")))
    found = next((name for name in INTERRUPTIONS if name in text), None)
    if found is not None:
        message = f"py4j.protocol.Py4JJavaError: An error occurred while calling Spark, which was interrupted: {found}"
        return f"{message}\n{kept[:_MAX_INTERRUPTED]}"
    if len(kept) <= MAX_CHARS:
        return kept
    cut = "\n...\n"
    half = (MAX_CHARS - len(cut)) // 2
    return kept[:half] + cut + kept[-half:]


_OURS = re.compile(r"^\s*oncelog\.[\w.]+: (.+)$", re.MULTILINE)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (A row for .+)$", re.MULTILINE)
"""The message of an error that a table's condition has raised in Spark."""


def our_sentence(text: str) -> str:
    """This package's message inside an error of Spark, from a task or the driver; empty if there is none, or if the
    error is an interruption."""
    if any(name in text for name in INTERRUPTIONS):
        return ""
    found = _OURS.findall(text) or _RAISED.findall(text)
    return re.sub(r"\s*SQLSTATE: \w+", "", found[-1]).strip() if found else ""
