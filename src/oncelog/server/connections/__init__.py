"""Connections of clients: requests in, answers out, with and without TLS, and limits on their number."""
