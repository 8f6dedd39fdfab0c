"""Clients of an event log that speaks Kafka's protocol: oncelog's own, or Apache Kafka.

``oncelog.client.aio`` for asyncio, ``oncelog.client.blocking`` for everything else; both have aiokafka's methods and
names. The rules they share are in ``client.core``, which does no I/O.
"""
