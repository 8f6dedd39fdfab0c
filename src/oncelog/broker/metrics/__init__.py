"""Prometheus metrics, and the health, of a broker, a client or a pipeline.

It reads the broker's core and the servers' counters; requests themselves call only
``broker.core.requests.request_metrics``. ``catalog`` lists every series, ``broker_series`` fills those of a broker in
chunks on the event loop, ``exposition`` renders them, ``endpoint`` serves them from its own thread.
"""
