"""The asyncio admin client, in parts by subject, and what is built on it."""
