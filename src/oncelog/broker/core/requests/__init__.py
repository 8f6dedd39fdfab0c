"""A request and its connection, and how a request waits.

``session`` describes the caller and the connection, ``context`` one request. Work that waits is a generator: ``tasks``
runs long work in chunks, ``parking`` delays a connection's next requests while one request waits. ``answers`` encodes
responses.
"""
