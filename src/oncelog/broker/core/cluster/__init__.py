"""Leaders and in-sync replicas of partitions, on one node or on several simulated ones."""
