"""The broker's core: what each request does, without a socket, a thread or a clock. Pure.

Called by ``broker.server``. ``broker`` is the entry and ``request_life`` the life cycle of a request; ``apis`` has a
file for each API, ``appending`` appends the batches of Produce requests, ``fetching`` has the Fetch requests that wait;
``coordination`` connects coordinators and logs.
"""
