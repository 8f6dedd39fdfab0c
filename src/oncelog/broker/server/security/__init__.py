"""TLS and logins of listeners."""
