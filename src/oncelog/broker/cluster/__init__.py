"""Which node leads each partition, and which replicas are in sync: of one node, or of several simulated ones."""
