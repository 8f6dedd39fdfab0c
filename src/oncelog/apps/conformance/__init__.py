"""Black-box checks of a broker's exactly-once promises, for any broker that speaks Apache Kafka's protocol.

Called by ``oncelog conformance``; ``lab`` uses its raw clients. It may import ``protocol``, ``client.core`` and
``apps.proxy``; of oncelog's clients it uses nothing that could hide a fault.
"""
