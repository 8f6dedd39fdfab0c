"""The asyncio consumer: its group, its starting offsets, and how records are returned."""
