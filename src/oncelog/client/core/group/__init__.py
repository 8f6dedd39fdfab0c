"""A consumer's membership of its group, under both protocols."""
