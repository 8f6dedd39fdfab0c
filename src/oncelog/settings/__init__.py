"""Typed settings of brokers and topics under Kafka's property names, and files of them.

Called by every part that has settings: broker, server, registry, mirror. It may import ``errors`` only. ``fields``
makes classes of settings, ``config`` has the broker's and the topics', ``kafka_properties`` knows those of Apache
Kafka.
"""
