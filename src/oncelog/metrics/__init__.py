"""What a broker, a client or a pipeline does, as numbers for Prometheus, and its health.

Below the server: it reads the broker's core and the servers' counters, and is called on the path of a request only
through ``broker.requests``. ``catalog`` lists every series, ``broker_series`` fills those of a broker in
slices of the loop, ``exposition`` writes them, ``endpoint`` serves them from its own thread.
"""
