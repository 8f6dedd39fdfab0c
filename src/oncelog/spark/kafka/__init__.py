"""A Kafka cluster for Spark: connections, metadata, offsets, fetches and transactions, blocking."""
