"""Subjects of the schema registry, their versions, and what differs between two of them."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from oncelog.console.web import RefusedRequest, Visit
from oncelog.schemas.differences import differences, pretty
from oncelog.schemas.registry import SchemaRegistry

MAX_SUBJECTS = 1_000


async def listing(visit: Visit) -> Response:
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


async def one(visit: Visit) -> Response:
    """A version of a subject, and how it differs from another one, the one before it unless it is named."""
    registry, subject = _registry(visit), visit.name("subject", "subject")
    versions = await asyncio.to_thread(registry.versions, subject)
    if not versions:
        raise RefusedRequest(f"subject {subject!r} has no version")
    number = visit.number("version", versions[-1], 1)
    shown = await asyncio.to_thread(registry.version, subject, number)
    before = [version for version in versions if version < shown.version]
    than = visit.number("than", before[-1] if before else shown.version, 1)
    other = await asyncio.to_thread(registry.version, subject, than)
    return visit.page(
        "schema.html",
        versions=versions,
        shown=shown,
        text=pretty(shown.schema),
        than=than,
        lines=differences(other, shown),
    )


def _registry(visit: Visit) -> SchemaRegistry:
    reader = visit.console.registry
    if reader is None:
        raise RefusedRequest("the console knows no schema registry: start it with --schema-registry URL")
    return reader.registry
