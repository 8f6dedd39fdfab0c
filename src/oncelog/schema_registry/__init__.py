"""A schema registry with Confluent's REST API, which keeps everything in one topic of any Kafka cluster, by default
``_schemas``.

Pure modules: ``schema_records``, ``state`` (built from the topic's records), ``requests``, ``contracts``, ``rules``,
``answers``, ``compatibility`` and ``formats``. Modules with I/O: ``log`` (the topic), ``service`` (which of several
registries is the writer), ``routes``, ``access`` and ``forwarding`` (HTTP), ``serving``.
"""
