"""The broker's core: what each request does, without a socket, a thread or a clock. Pure.

Called by ``broker.server``. ``broker`` is the entry and ``request_life`` the life cycle of a request; ``apis`` has a
file for each API, ``appending`` appends Produce requests, ``fetching`` holds Fetches that wait; ``coordination`` joins
coordinators and logs.
"""
