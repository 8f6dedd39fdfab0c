"""What operators change: topics, where partitions are, settings, log levels, listeners."""
