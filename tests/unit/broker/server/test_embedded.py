"""What a program gives to ``oncelog.Broker`` by mistake is refused by name, before anything starts."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any

import pytest

from oncelog.broker.server.embedded import Broker
from oncelog.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"data": 5}, "data=5: the name of a folder is needed, or None to keep everything in memory"),
        ({"settings": ["num.partitions"]}, r"settings=\['num.partitions'\]: a dict of names and values is needed"),
        ({"listen": 9092}, "listen=9092: an address is needed, such as '127.0.0.1:9092'"),
        ({"listen": "9092"}, "'9092' is not an address: write HOST:PORT"),
        ({"nodes": True}, "nodes=True: a broker has from 1 to 9 nodes"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named_in_the_refusal(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Broker(**given)


def test_a_folder_can_be_given_as_text_or_path(tmp_path: Path) -> None:
    class Folder:
        def __fspath__(self) -> str:
            return str(tmp_path)

    for folder in (tmp_path, str(tmp_path), PurePath(tmp_path), Folder()):
        assert Broker(folder).data == tmp_path  # type: ignore[arg-type]
