"""Transactions as a block, and transactions of ready-made batches."""
