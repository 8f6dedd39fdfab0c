"""The asyncio admin client, divided by subject, and what is built on it."""
