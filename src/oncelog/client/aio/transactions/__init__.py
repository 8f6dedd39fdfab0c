"""Transactions as a ``with`` block, and transactions of encoded batches."""
