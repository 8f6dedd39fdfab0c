"""Transactions of a producer: identity, epochs, states, and the requests to the coordinator."""
