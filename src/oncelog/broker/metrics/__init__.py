"""Prometheus metrics, and the health, of a broker, a client or a pipeline.

Below the server: it reads the broker's core and the servers' counters, and is called on the path of a request only
through ``broker.core.requests.request_metrics``. ``catalog`` lists every series, ``broker_series`` fills those of a
broker in chunks on the event loop, ``exposition`` writes them, ``endpoint`` serves them from its own thread.
"""
