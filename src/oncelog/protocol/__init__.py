"""Kafka's wire protocol: messages, framing, versions. Pure data in, pure data out; no I/O, no clock.

Used by the broker, the client core, the coordinators and the log tools. Import the module you need
(``oncelog.protocol.generated.fetch_request``): nothing here imports all messages.
"""
