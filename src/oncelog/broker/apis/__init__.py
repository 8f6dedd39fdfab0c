"""One module for each API that the broker serves, under Kafka's name for it.

A module defines ``API``, ``VERSIONS`` (lowest and highest served) and ``handle(broker, context, request)``, which
returns the response or a ``Deferred`` of it. ``registry`` names them all.
"""
