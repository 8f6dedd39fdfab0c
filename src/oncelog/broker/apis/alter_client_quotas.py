"""AlterClientQuotas (key 49), versions 0-1: quotas of users, client ids and addresses (KIP-546).

Each entry is changed as a whole or not at all; of entries that name one entity the first counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.context import RequestContext
from oncelog.broker.quotas import QuotaChange, change_refusal, entity_of, entity_refusal
from oncelog.errors import Error, StorageError
from oncelog.metadata.store import QuotaEntity
from oncelog.protocol.generated.alter_client_quotas_request import AlterClientQuotasRequest
from oncelog.protocol.generated.alter_client_quotas_response import AlterClientQuotasResponse, EntityData, EntryData

if TYPE_CHECKING:
    from oncelog.broker.broker import Broker


def handle(broker: Broker, context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    results: dict[QuotaEntity, tuple[Error, str | None]] = {}
    changes: dict[QuotaEntity, list[QuotaChange]] = {}
    for entry in request.entries:
        entity = entity_of([(part.entity_type, part.entity_name) for part in entry.entity])
        if entity in changes:
            parts = ", ".join(f"{kind}={name}" for kind, name in entity)
            message = f"Ignoring duplicate entity ClientQuotaEntity(entries={{{parts}}})"
            results[entity] = Error.INVALID_REQUEST, message
            continue
        changes[entity] = [QuotaChange(op.key, op.value, op.remove) for op in entry.ops]
    for entity, wanted in changes.items():
        refused = results.get(entity)
        # The first of several entries of one entity takes effect though the entity is told of the others.
        done = _change(broker, entity, wanted, validate_only=request.validate_only)
        results[entity] = refused if refused is not None and done[0] is Error.NONE else done
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
    broker: Broker, entity: QuotaEntity, wanted: list[QuotaChange], *, validate_only: bool
) -> tuple[Error, str | None]:
    message = entity_refusal(entity)
    if message is None:
        message = next(filter(None, (change_refusal(entity, change) for change in wanted)), None)
    if message is not None:
        return Error.INVALID_REQUEST, message
    if not validate_only:
        try:
            with broker.metadata.batch():
                for change in wanted:
                    broker.metadata.set_client_quota(entity, change.key, None if change.remove else change.value)
        except StorageError as error:
            return Error.KAFKA_STORAGE_ERROR, str(error)
        broker.quotas_changed()
    return Error.NONE, None
