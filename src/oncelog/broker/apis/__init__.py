"""One module for each API that the broker serves, under Kafka's name for it.

A module defines ``handle(broker, context, request)``, which returns the response or a ``Deferred`` of it. ``registry``
has everything else: key, versions, what a caller must be allowed to do, how large a request may be.
"""
