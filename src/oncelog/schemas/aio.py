"""A schema registry for asyncio: the blocking client's requests, in threads, so that the loop never waits for one."""

from __future__ import annotations

from typing import Any, Self

from oncelog.runtime import real_asyncio as asyncio
from oncelog.schemas.registry import LATEST, SchemaRegistry
from oncelog.schemas.structs import RegisteredSchema, Schema


class AsyncSchemaRegistry:
    """:class:`SchemaRegistry` for asyncio, with the same settings; serializers take either."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.blocking = SchemaRegistry(url, **settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended: object) -> None:
        self.blocking.close()

    async def schema(self, schema_id: int, form: str = "") -> Schema:
        """See :meth:`SchemaRegistry.schema`."""
        return await asyncio.to_thread(self.blocking.schema, schema_id, form)

    async def where_used(self, schema_id: int) -> list[tuple[str, int]]:
        """See :meth:`SchemaRegistry.where_used`."""
        return await asyncio.to_thread(self.blocking.where_used, schema_id)

    async def subjects(self, *, deleted: bool = False) -> list[str]:
        """See :meth:`SchemaRegistry.subjects`."""
        return await asyncio.to_thread(self.blocking.subjects, deleted=deleted)

    async def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        """See :meth:`SchemaRegistry.versions`."""
        return await asyncio.to_thread(self.blocking.versions, subject, deleted=deleted)

    async def version(self, subject: str, version: int | str = LATEST) -> RegisteredSchema:
        """See :meth:`SchemaRegistry.version`."""
        return await asyncio.to_thread(self.blocking.version, subject, version)

    async def latest(self, subject: str) -> RegisteredSchema:
        """See :meth:`SchemaRegistry.latest`."""
        return await asyncio.to_thread(self.blocking.latest, subject)

    async def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> int:
        """See :meth:`SchemaRegistry.register`."""
        return await asyncio.to_thread(self.blocking.register, subject, schema, normalize=normalize)

    async def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """See :meth:`SchemaRegistry.lookup`."""
        return await asyncio.to_thread(self.blocking.lookup, subject, schema, normalize=normalize)

    async def problems(self, subject: str, schema: Schema, version: int | str = LATEST) -> list[str]:
        """See :meth:`SchemaRegistry.problems`."""
        return await asyncio.to_thread(self.blocking.problems, subject, schema, version)

    async def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """See :meth:`SchemaRegistry.delete_subject`."""
        return await asyncio.to_thread(self.blocking.delete_subject, subject, permanent=permanent)
