"""A proxy that injects faults between clients and any broker, Apache Kafka included.

Called by ``oncelog proxy``, by ``oncelog.testing.FaultProxy`` and by the programs that need a lost answer. It follows
the rules of :mod:`oncelog.broker.faults.rules`, and reaches the broker behind it through the asyncio client.
"""
