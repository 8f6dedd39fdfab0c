"""AlterClientQuotas (key 49), versions 0-1: quotas of users, client ids and addresses (KIP-546).

Each entry is changed as a whole or not at all; of entries that name one entity only the first counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncelog.broker.core.limits.quotas import QuotaChange, change_refusal, entity_of, entity_refusal
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.work import Work, in_parts
from oncelog.broker.metadata.store import QuotaEntity
from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.alter_client_quotas_request import AlterClientQuotasRequest
from oncelog.protocol.generated.alter_client_quotas_response import AlterClientQuotasResponse, EntityData, EntryData
from oncelog.runtime.deferred import Deferred

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import QuotaPorts


ENTRIES_IN_A_CHUNK = 100
ENTITIES_IN_A_CHUNK = 10
"""How many become durable together."""


def handle(
    ports: QuotaPorts, context: RequestContext, request: AlterClientQuotasRequest
) -> Deferred[AlterClientQuotasResponse]:
    return ports.tasks.begin(_alter(ports, request), owner=context)


def _alter(ports: QuotaPorts, request: AlterClientQuotasRequest) -> Work[AlterClientQuotasResponse]:
    results: dict[QuotaEntity, tuple[Error, str | None]] = {}
    changes: dict[QuotaEntity, list[QuotaChange]] = {}
    for entries in in_parts(request.entries, ENTRIES_IN_A_CHUNK):
        for entry in entries:
            entity = entity_of([(part.entity_type, part.entity_name) for part in entry.entity])
            if entity in changes:
                parts = ", ".join(f"{kind}={name}" for kind, name in entity)
                message = f"Ignoring duplicate entity ClientQuotaEntity(entries={{{parts}}})"
                results[entity] = Error.INVALID_REQUEST, message
                continue
            changes[entity] = [QuotaChange(op.key, op.value, op.remove) for op in entry.ops]
        yield
    for part in in_parts(list(changes.items()), ENTITIES_IN_A_CHUNK):
        for entity, done in _change(ports, part, validate_only=request.validate_only):
            # The first of several entries of one entity counts, but the answer reports a refusal of the others.
            results.setdefault(entity, done)
        yield
    ports.quotas_changed()
    answers: list[EntryData] = []
    for answered in in_parts(list(results.items()), ENTRIES_IN_A_CHUNK):
        answers += [
            EntryData(
                error_code=error,
                error_message=message,
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            )
            for entity, (error, message) in answered
        ]
        yield
    return AlterClientQuotasResponse(entries=answers)


def _change(
    ports: QuotaPorts, changes: Sequence[tuple[QuotaEntity, list[QuotaChange]]], *, validate_only: bool
) -> list[tuple[QuotaEntity, tuple[Error, str | None]]]:
    outcomes: list[tuple[QuotaEntity, tuple[Error, str | None]]] = []
    try:
        with ports.metadata.batch():
            for entity, wanted in changes:
                message = entity_refusal(entity)
                if message is None:
                    message = next(filter(None, (change_refusal(entity, change) for change in wanted)), None)
                outcomes.append((entity, (Error.NONE if message is None else Error.INVALID_REQUEST, message)))
                if message is None and not validate_only:
                    for change in {change.key: change for change in wanted}.values():  # the last of each key counts
                        ports.metadata.set_client_quota(entity, change.key, None if change.remove else change.value)
    except StorageError as error:
        return [(entity, (Error.KAFKA_STORAGE_ERROR, str(error))) for entity, _ in changes]
    return outcomes
