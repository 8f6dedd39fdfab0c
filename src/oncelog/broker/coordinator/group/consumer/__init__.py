"""Groups of the consumer protocol (KIP-848): state, rules, drafts of changes, assignors, reconciliation."""
