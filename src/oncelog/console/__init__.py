"""The console: topics, records with their fates, transactions, groups and pipelines of any Kafka cluster in a browser.

It only uses ``client.aio``: everything it shows or changes goes through a broker, oncelog's or Apache Kafka's. Called
by ``oncelog console``; the extra ``console`` installs the packages it needs.
"""
