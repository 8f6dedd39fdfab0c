"""A topic is made whole or not at all, whatever fails while it is made."""

from __future__ import annotations

from typing import Any

import pytest

from oncelog.errors import StorageError
from oncelog.types import TopicPartition
from tests.unit.broker.apis_admin.conftest import NOW_MS, Admin


@pytest.mark.parametrize("failure", [StorageError("no space"), RuntimeError("nobody foresaw this")])
def test_a_topic_is_made_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    broker = Admin().broker
    opening = broker.logs.open

    def fails_at_the_third(where: TopicPartition, *rest: Any) -> Any:
        if where.partition == 2:
            raise failure
        return opening(where, *rest)

    with monkeypatch.context() as broken:
        broken.setattr(broker.logs, "open", fails_at_the_third)
        with pytest.raises(type(failure)):
            broker.topics.create("t", 4, {}, NOW_MS)
    assert broker.metadata.topic("t") is None
    assert not [where for where in broker.topics.partitions if where.topic == "t"]
    broker.topics.create("t", 4, {}, NOW_MS)
    assert len([where for where in broker.topics.partitions if where.topic == "t"]) == 4
    broker.stop(NOW_MS)


def test_a_topic_whose_place_cannot_be_kept_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Admin().broker

    def fails(*_: object) -> Any:
        raise RuntimeError("nobody foresaw this")

    with monkeypatch.context() as broken:
        broken.setattr(type(broker.nodes), "place", fails)
        with pytest.raises(RuntimeError):
            broker.topics.create("t", 4, {}, NOW_MS)
    assert broker.metadata.topic("t") is None
    broker.stop(NOW_MS)
