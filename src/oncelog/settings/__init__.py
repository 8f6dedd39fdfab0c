"""Typed settings of brokers and topics under Kafka's property names, and files of them.

Called by every part that has settings: broker, server, registry, mirror. It may import ``errors`` only. ``fields``
makes classes of settings, ``config`` has the settings of brokers and topics, ``kafka_properties`` those of Apache
Kafka.
"""
