"""The consumer: what is subscribed, what is fetched from where, and what a reader may see of it."""
