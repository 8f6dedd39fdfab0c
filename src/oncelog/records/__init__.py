"""Kafka's record batch, format v2: reading, writing, validating and rewriting.

The lowest layer that knows Kafka's bytes; the log, the broker's produce path, both clients and the Spark source and
sink use it. Nothing here does I/O or keeps state between calls. The compiled module ``_native`` is optional:
:mod:`oncelog.records.native` chooses between it and a codec in Python, which gives the same results.

==============================  ==============================================================
:mod:`~oncelog.records.batch`        headers, records, building batches, setting their producer and offsets
:mod:`~oncelog.records.control`      markers that end a transaction
:mod:`~oncelog.records.validation`   what a leader checks in a client's batch
:mod:`~oncelog.records.compression`  the four codecs
:mod:`~oncelog.records.partitioner`  murmur2, as Java's producer uses it
:mod:`~oncelog.records.arrow`        batches to and from Arrow (needs pyarrow and numpy)
==============================  ==============================================================
"""
