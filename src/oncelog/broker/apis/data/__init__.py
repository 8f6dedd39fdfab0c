"""APIs that write, read and look into partitions."""
