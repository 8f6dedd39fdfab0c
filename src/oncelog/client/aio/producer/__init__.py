"""The asyncio producer: takes records in and sends them."""
