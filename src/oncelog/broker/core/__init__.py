"""The broker's core: what each request does, without a socket, a thread or a clock. Pure.

Called by ``broker.server``. ``broker`` is the entry and ``request_life`` a request's way; ``apis`` has a file for
each API, ``appending`` a Produce's way, ``fetching`` Fetches that wait; ``coordination`` joins coordinators and logs.
"""
