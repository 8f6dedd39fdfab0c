"""The partitions and their logs: opened, flushed, cleaned, and the metadata file synced beside them."""
