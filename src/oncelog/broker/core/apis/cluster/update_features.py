"""UpdateFeatures (key 57), versions 0-2: set the finalized level of features, all in a request or none (KIP-584).

Version 1 adds unsafe downgrades and ``ValidateOnly`` (KIP-778); version 2 answers only for the whole request, not for
each feature. As in Apache Kafka's controller, ``AllowDowngrade`` of version 0 has no effect, and if a feature is named
twice, the last level counts. Levels are in force at once for all later requests.

One difference from Apache Kafka, which cannot keep prepared transactions: while a prepared transaction awaits its
database's decision (KIP-939), ``transaction.version`` cannot be set below 2; there, successive transactions share an
epoch, so producer id and epoch would not identify the transaction to be decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oncelog.broker.coordinator.transaction.events import EPOCH_BUMP_VERSION
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.features import TRANSACTION_VERSION, FeatureRefusal, FeatureUpdate, updated
from oncelog.errors import Error
from oncelog.protocol.generated.update_features_request import UpdateFeaturesRequest
from oncelog.protocol.generated.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ClusterPorts

LAST_WITH_RESULTS = 1


def handle(ports: ClusterPorts, context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    updates = {
        update.feature: FeatureUpdate(update.max_version_level, update.upgrade_type)
        for update in request.feature_updates
    }
    levels = updated(ports.metadata.finalized_features.levels, updates, ports.node.node_id)
    if isinstance(levels, FeatureRefusal):
        return UpdateFeaturesResponse(error_code=Error.INVALID_UPDATE_VERSION, error_message=levels.message)
    lowered = levels.get(TRANSACTION_VERSION, 0) < EPOCH_BUMP_VERSION
    undecided = ports.transactions.undecided() if lowered else ()
    if undecided:
        return UpdateFeaturesResponse(error_code=Error.INVALID_UPDATE_VERSION, error_message=_undecided(undecided))
    if not request.validate_only:
        ports.metadata.finalize_features(levels)
    return UpdateFeaturesResponse(
        error_code=Error.NONE,
        error_message=None,
        results=[
            UpdatableFeatureResult(feature=update.feature, error_code=Error.NONE, error_message="NONE")
            for update in request.feature_updates
            if context.api_version <= LAST_WITH_RESULTS
        ],
    )


def _undecided(names: Sequence[str]) -> str:
    return (
        f"{len(names)} transactions in two-phase commit are open ({', '.join(names[:3])}), and need "
        f"{TRANSACTION_VERSION} {EPOCH_BUMP_VERSION}: complete them first, or end them with "
        "oncelog transactions fence --force"
    )
