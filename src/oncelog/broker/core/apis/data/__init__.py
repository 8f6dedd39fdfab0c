"""APIs that write, read and inspect partitions."""
