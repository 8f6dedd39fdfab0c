"""Fetches that wait, and incremental sessions.

Called by ``apis.data.fetch``, which answers a Fetch together with ``fetch_reading``, and by ``broker``; share fetches
wait here too. It may import ``core.requests`` and ``runtime``; it has no access to logs.
"""
