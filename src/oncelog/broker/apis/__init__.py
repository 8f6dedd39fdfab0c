"""One module for each API that the broker serves, under Kafka's name for it, in a folder for its kind.

A module defines ``handle(ports, context, request)``, which returns the response or a ``Deferred`` of it. ``registry``
has everything else: key, versions, what a caller must be allowed to do, how large a request may be. ``ports`` has what
handlers need of their broker.
"""
