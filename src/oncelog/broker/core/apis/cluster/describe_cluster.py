"""DescribeCluster (key 60), versions 0-2: the cluster's id, controller and brokers.

From version 1 on a request asks for brokers or for controllers (KIP-919); a request for controllers is refused. Source:
Kafka's ``KafkaApis.handleDescribeCluster``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.core.apis.topics.metadata import cluster_operations
from oncelog.broker.core.requests.context import RequestContext
from oncelog.errors import Error
from oncelog.protocol.generated.describe_cluster_request import DescribeClusterRequest
from oncelog.protocol.generated.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse

if TYPE_CHECKING:
    from oncelog.broker.core.apis.ports import ClusterPorts


BROKERS = 1
CONTROLLERS = 2


def handle(ports: ClusterPorts, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=Error.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type "
            "CONTROLLER",
        )
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=Error.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    nodes, controller_id = ports.nodes.seen_by(context)
    response = DescribeClusterResponse(
        error_code=Error.NONE,
        error_message=None,
        cluster_id=ports.metadata.cluster_id,
        controller_id=controller_id,
        brokers=[
            DescribeClusterBroker(broker_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in nodes
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(ports, context)
    return response
