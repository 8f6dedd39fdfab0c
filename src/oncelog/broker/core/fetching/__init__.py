"""Waiting fetches, incremental sessions, and patterns of repeated fetches."""
