"""A schema registry with Confluent's REST API, which keeps everything in the topic ``_schemas`` of any Kafka cluster.

Pure: ``records`` and ``state`` (the fold of the topic), ``requests``, ``rules``, ``answers``, ``compatibility`` and
``formats``. Shell: ``log`` (the topic), ``service`` (which of several registries is the writer), ``routes`` and
``access`` (HTTP), ``serving``.
"""
