"""Classes of settings: what ``Settings`` gives them instead of a dataclass's generated methods."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, field, replace
from typing import Any

import pytest

from oncelog.client.core.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from oncelog.client.core.security import SecurityConfig
from oncelog.settings.config import BrokerConfig, TopicConfig
from oncelog.settings.fields import Settings, setting

CLASSES = [TopicConfig, BrokerConfig, SecurityConfig, ClientConfig, AdminConfig, ProducerConfig, ConsumerConfig]


class Pets(Settings):
    """Settings for these tests."""

    dogs: int = setting("dogs", 1, "Number of dogs.")
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    note: str = field(default="", compare=False, repr=False)


class MorePets(Pets):
    """Settings on top of others."""

    cats: int = setting("cats", 2, "Number of cats.")


@pytest.mark.parametrize("cls", CLASSES)
def test_classes_of_settings_contain_no_methods_that_are_compiled_at_import(cls: type[Settings]) -> None:
    for method in ("__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"):
        assert getattr(cls, method) is getattr(Settings, method)


def test_a_settings_class_has_its_own_defaults_and_those_of_its_base_class() -> None:
    pets = MorePets(cats=5)
    assert (pets.dogs, pets.cats, pets.names, pets.note) == (1, 5, {}, "")
    assert pets.names is not MorePets().names


def test_an_unknown_setting_is_refused() -> None:
    values: dict[str, Any] = {"dogs": 2, "birds": 3}
    with pytest.raises(TypeError, match=r"MorePets has no settings birds"):
        MorePets(**values)


def test_settings_are_immutable_and_a_changed_copy_can_be_made() -> None:
    pets = Pets(dogs=3)
    with pytest.raises(FrozenInstanceError, match="dogs"):
        setattr(pets, "dogs", 4)  # noqa: B010 - mypy refuses the plain statement, which is the point
    with pytest.raises(FrozenInstanceError, match="dogs"):
        delattr(pets, "dogs")
    assert (replace(pets, dogs=4).dogs, pets.dogs) == (4, 3)


def test_settings_are_equal_if_class_and_values_are_equal() -> None:
    assert Pets(dogs=3, note="one") == Pets(dogs=3, note="two")
    assert Pets(dogs=3) != Pets(dogs=4)
    assert Pets(names={"rex": "dog"}) != Pets()
    assert Pets() != MorePets()
    assert hash(Pets(names={"rex": "dog"})) == hash(Pets()) != hash(Pets(dogs=4))


def test_the_repr_of_settings_shows_their_values() -> None:
    assert repr(MorePets(dogs=3, note="hidden")) == "MorePets(dogs=3, names={}, cats=2)"


def test_settings_can_be_pickled() -> None:
    config = TopicConfig(segment_ms=7, cleanup_policy=("compact",))
    assert pickle.loads(pickle.dumps(config)) == config
