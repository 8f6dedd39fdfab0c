"""Partitions and their logs: opening, syncing and compacting them, and syncing the metadata file."""
