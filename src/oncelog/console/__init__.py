"""The console: topics, records with their fates, transactions, groups and pipelines of any Kafka cluster in a browser.

A client of ``client.aio`` and nothing else: whatever it shows or changes, it asks a broker for, ours or Apache Kafka.
Called by ``oncelog console``; the extra ``console`` brings what it needs.
"""
