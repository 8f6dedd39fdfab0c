"""The asyncio consumer: its group, where it starts to read, and how records are handed out."""
