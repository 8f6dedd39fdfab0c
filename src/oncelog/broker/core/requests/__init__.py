"""A request and its connection, and how a request waits.

``session`` is the caller and the connection, ``context`` one request. Work that waits is a generator: ``tasks`` runs
long work in chunks, ``parking`` holds back a connection's next requests while one waits. ``answers`` encodes.
"""
