"""What a client learns about the cluster's features."""

from __future__ import annotations

from oncelog.client.aio.connection.network import Network
from oncelog.client.core.config import ClientConfig
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse, FinalizedFeatureKey


def reported(epoch: int, **levels: int) -> ApiVersionsResponse:
    features = [FinalizedFeatureKey(name.replace("_", "."), level, level) for name, level in levels.items()]
    return ApiVersionsResponse(finalized_features_epoch=epoch, finalized_features=features)


def test_the_transaction_version_is_that_of_the_highest_features_epoch_and_0_if_no_broker_reports_it() -> None:
    network = Network(ClientConfig(bootstrap_servers=("127.0.0.1:1",)))
    assert network.transaction_version() == 0
    network.learn_features(reported(5, transaction_version=2, group_version=1))
    assert network.transaction_version() == 2
    network.learn_features(reported(4, transaction_version=1))
    assert network.transaction_version() == 2, "a broker that lags behind"
    network.learn_features(reported(6, group_version=1))
    assert network.transaction_version() == 0
    network.learn_features(reported(7, transaction_version=1))
    assert network.transaction_version() == 1
