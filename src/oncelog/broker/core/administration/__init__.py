"""What operators change: topics, replica assignments, settings, log levels, listeners."""
