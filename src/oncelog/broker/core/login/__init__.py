"""Authentication: SASL, and the principals of client certificates."""
