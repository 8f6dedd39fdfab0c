"""A broker says at its start which Java classes of its settings it does not load."""

from __future__ import annotations

import logging

import pytest

import oncelog


def test_the_error_names_a_java_class_that_is_not_loaded(caplog: pytest.LogCaptureFixture) -> None:
    settings = {
        "create.topic.policy.class.name": "com.example.Policy",
        "principal.builder.class": "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        "replica.selector.class": "",
    }
    with caplog.at_level(logging.WARNING, "oncelog.broker.server.opening"), oncelog.Broker(settings=settings):
        pass
    assert [record.getMessage() for record in caplog.records] == [
        "create.topic.policy.class.name has no effect: this broker does not load the Java class com.example.Policy"
    ]
