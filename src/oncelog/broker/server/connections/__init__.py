"""Client connections, plain and with TLS: receiving requests, sending answers, and limits on their number."""
