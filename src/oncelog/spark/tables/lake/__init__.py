"""Tables of files: Delta, by delta-rs, and Iceberg, by pyiceberg."""
