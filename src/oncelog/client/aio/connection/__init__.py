"""Access to a cluster: leaders and coordinators, connections to the brokers, TLS and logins."""
