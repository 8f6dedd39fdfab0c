"""AlterClientQuotas (key 49), versions 0-1: quotas of users, client ids and addresses (KIP-546).

Each entry is changed as a whole or not at all; if several entries name the same entity, only the first counts; an entry
that names a quota twice is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from oncelog.broker.core.limits.quotas import QuotaChange, change_refusal, entity_of, entity_refusal
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.store import QuotaEntity
from oncelog.errors import Error, StorageError
from oncelog.protocol.generated.alter_client_quotas_request import AlterClientQuotasRequest
from oncelog.protocol.generated.alter_client_quotas_response import AlterClientQuotasResponse, EntityData, EntryData

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import QuotaPorts


def handle(ports: QuotaPorts, context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    results: dict[QuotaEntity, tuple[Error, str | None]] = {}
    changes: dict[QuotaEntity, list[QuotaChange]] = {}
    for entry in request.entries:
        entity = entity_of([(part.entity_type, part.entity_name) for part in entry.entity])
        keys = [op.key for op in entry.ops]
        if entity in changes or entity in results or len(set(keys)) < len(keys):
            parts = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
            message = f"Ignoring duplicate entity ClientQuotaEntity(entries={{{parts}}})"
            results[entity] = Error.INVALID_REQUEST, message
            continue
        changes[entity] = [QuotaChange(op.key, op.value, op.remove) for op in entry.ops]
    for entity, done in _change(ports, changes, validate_only=request.validate_only):
        # Of several entries for one entity the first is applied, but if another was refused, the answer has that error.
        results.setdefault(entity, done)
    ports.quotas_changed()
    return AlterClientQuotasResponse(
        entries=[
            EntryData(
                error_code=error,
                error_message=message,
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            )
            for entity, (error, message) in results.items()
        ]
    )


def _change(
    ports: QuotaPorts, changes: Mapping[QuotaEntity, list[QuotaChange]], *, validate_only: bool
) -> list[tuple[QuotaEntity, tuple[Error, str | None]]]:
    outcomes: list[tuple[QuotaEntity, tuple[Error, str | None]]] = []
    try:
        with ports.metadata.batch():
            for entity, wanted in changes.items():
                message = entity_refusal(entity)
                if message is None:
                    message = next(filter(None, (change_refusal(entity, change) for change in wanted)), None)
                outcomes.append((entity, (Error.NONE if message is None else Error.INVALID_REQUEST, message)))
                if message is None and not validate_only:
                    for change in wanted:
                        ports.metadata.set_client_quota(entity, change.key, None if change.remove else change.value)
    except StorageError as error:
        return [(entity, (Error.KAFKA_STORAGE_ERROR, str(error))) for entity in changes]
    return outcomes
