"""Shows the subjects of the schema registry, their versions, and the differences between two versions."""

from __future__ import annotations

from starlette.responses import Response

from oncelog.apps.console.decoding import FULL_BYTES
from oncelog.apps.console.web import ConsoleRequest, RefusedRequest
from oncelog.runtime import real_asyncio as asyncio
from oncelog.schemas.differences import differences, pretty
from oncelog.schemas.registry import SchemaRegistry
from oncelog.schemas.structs import RegisteredSchema

MAX_SUBJECTS = 1_000
MAX_VERSIONS = 1_000
"""The maximum number of a subject's versions that the page links to; they are the newest ones."""
MAX_COMPARED_LINES = 5_000
"""The maximum length of texts that are compared, in lines; longer ones would take minutes."""


async def listing(visit: ConsoleRequest) -> Response:
    """All subjects."""
    registry, part = _registry(visit), visit.query("q")
    subjects = await asyncio.to_thread(registry.subjects)
    matching = [subject for subject in subjects if part in subject]
    return visit.page(
        "schemas.html",
        q=part,
        registry=registry.url,
        total=len(subjects),
        matching=len(matching),
        subjects=matching[:MAX_SUBJECTS],
    )


async def one(visit: ConsoleRequest) -> Response:
    """The page of one version of a subject, and its differences from another version: the one named in the query, or
    the previous one."""
    registry, subject = _registry(visit), visit.name("subject", "subject")
    versions = (await asyncio.to_thread(registry.versions, subject))[-MAX_VERSIONS:]
    if not versions:
        raise RefusedRequest(f"subject {subject!r} has no version")
    number = visit.number("version", versions[-1], 1)
    shown = await asyncio.to_thread(registry.version, subject, number)
    before = [version for version in versions if version < shown.version]
    than = visit.number("than", before[-1] if before else shown.version, 1)
    other = await asyncio.to_thread(registry.version, subject, than)
    text, lines = await asyncio.to_thread(_texts, shown, other)
    return visit.page(
        "schema.html",
        versions=versions,
        shown=shown,
        text=text[:FULL_BYTES],
        cut=len(text) > FULL_BYTES,
        than=than,
        compared=lines is not None,
        lines="\n".join(lines or [])[:FULL_BYTES],
    )


def _texts(shown: RegisteredSchema, other: RegisteredSchema) -> tuple[str, list[str] | None]:
    """The text of a version, and the lines in which it differs from the other version; None instead of the lines if the
    texts are too long to be compared."""
    text = pretty(shown.schema)
    if shown.version == other.version:
        return text, []
    length = max(len(one.splitlines()) for one in (text, pretty(other.schema)))
    return text, differences(other, shown) if length <= MAX_COMPARED_LINES else None


def _registry(visit: ConsoleRequest) -> SchemaRegistry:
    reader = visit.console.registry
    if reader is None:
        raise RefusedRequest("the console knows no schema registry: start it with --schema-registry URL")
    return reader.registry
