"""The consumer: its subscription, what it fetches from which broker, and what a reader may see."""
