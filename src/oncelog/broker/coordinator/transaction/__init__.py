"""The transaction coordinator: transactional ids, from InitProducerId to the last marker.

Called by the handlers in ``core.apis`` and by ``core.appending`` through ``transaction_coordinator``, which finds the
``shard`` of an id; ``rules`` decide, and change nothing. It may import ``coordinator.runtime`` and below.
"""
