"""The console shows a Kafka cluster in a browser: topics, records with their outcomes, transactions, groups, pipelines.

It only uses ``client.aio``: everything it shows or changes goes through a broker, oncelog's or Apache Kafka's. Called
by ``oncelog console``; the extra ``console`` installs the packages it needs.
"""
