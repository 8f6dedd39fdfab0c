"""Fetches that wait, and incremental sessions.

Called by ``apis.data.fetch``, which with ``fetch_reading`` beside it is a Fetch's way, and by ``broker``; share fetches
wait here too. It may import ``core.requests`` and ``runtime``, and knows no log.
"""
