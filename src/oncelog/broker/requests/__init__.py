"""A request and its connection, and the ways in which a request waits.

``session`` is the caller and the connection, ``context`` one request. A request waits as a generator: ``slices`` does
long work chunk by chunk, ``parking`` keeps a connection's next requests behind one that waits. ``answers`` encodes,
``repeated_requests`` recognizes a request that differs little from its connection's last one.
"""
