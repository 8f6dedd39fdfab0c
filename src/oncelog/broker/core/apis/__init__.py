"""One module for each API that the broker serves, with Kafka's name of the API, in folders by kind of API.

A module defines ``handle(ports, context, request)``, which returns the response or a ``Deferred`` of it. ``registry``
declares each API's key, versions, required permissions and size limit. ``ports`` declares what handlers need from the
broker.
"""
