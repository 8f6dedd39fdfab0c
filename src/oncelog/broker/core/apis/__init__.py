"""One module for each API that the broker serves, under Kafka's name for it, in a folder for its kind.

A module defines ``handle(ports, context, request)``, which returns the response or a ``Deferred`` of it. ``registry``
declares the rest: key, versions, required permissions, size limit. ``ports`` declares what handlers need from the
broker.
"""
