"""A proxy that injects faults between clients and any broker, Apache Kafka included.

Called by ``oncelog proxy``, by ``oncelog.testing.FaultProxy`` and by the programs that must lose an answer on purpose.
The rules of faults are in :mod:`oncelog.broker.faults.rules`; the asyncio client makes the connections to brokers.
"""
