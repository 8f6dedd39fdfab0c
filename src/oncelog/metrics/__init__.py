"""What a broker, a client or a pipeline does, as numbers for Prometheus, and whether it is well.

Below the server: it reads the broker's core and what the shells count, and is told of nothing on the way of a request
but through ``broker.request_metrics``. ``catalog`` names every series, ``broker_series`` fills those of a broker in
slices of the loop, ``exposition`` writes them, ``endpoint`` serves them from a thread of its own.
"""
