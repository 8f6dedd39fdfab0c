"""The asyncio producer: accepts records and sends them."""
