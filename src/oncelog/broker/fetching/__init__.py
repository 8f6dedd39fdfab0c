"""Fetches that wait, incremental sessions, and fetches that repeat the one before."""
