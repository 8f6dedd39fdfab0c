"""JAAS texts as Java's Configuration takes them."""

from __future__ import annotations

import pytest

from oncelog.broker.core.login.jaas import parse_jaas
from oncelog.errors import ConfigError

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("options", "users"),
    [
        ('user_alice="secret"', {"alice": "secret"}),
        ("user_alice='secret'", {"alice": "secret"}),
        ("user_alice=secret", {"alice": "secret"}),
        ('user_alice = "secret"', {"alice": "secret"}),
        ('username="admin" password="p" user_alice="a" user_bob="b"', {"alice": "a", "bob": "b"}),
        (r'user_alice="a\"b"', {"alice": 'a"b'}),
        ('user_alice="a;b=c d"', {"alice": "a;b=c d"}),
        ('user_alice=""', {"alice": ""}),
        ('user_alice="pä$$"\n   user_b.o-b="2"', {"alice": "pä$$", "b.o-b": "2"}),
        ("", {}),
    ],
)
def test_users_of_a_login_module_are_read(options: str, users: dict[str, str]) -> None:
    found = parse_jaas("p", f"  {MODULE} required {options} ;\n")
    assert found.name == MODULE
    assert found.users == users


@pytest.mark.parametrize("flag", ["required", "REQUISITE", "sufficient", "optional"])
def test_jaas_control_flags_are_read(flag: str) -> None:
    assert parse_jaas("p", f"{MODULE} {flag};").users == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        MODULE,
        f"{MODULE};",
        f'{MODULE} required user_alice="hidden"',
        f'{MODULE} perhaps user_alice="hidden";',
        f"{MODULE} required user_alice;",
        f'{MODULE} required user_alice "hidden";',
        f'{MODULE} required user_alice="hidden;',
        f"{MODULE} required user_alice=;",
        f'{MODULE} required user_alice="hidden"; {MODULE} required user_bob="hidden";',
    ],
)
def test_an_invalid_login_module_is_refused_without_showing_its_passwords(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_jaas("listener.name.x.plain.sasl.jaas.config", text)
    assert "listener.name.x.plain.sasl.jaas.config must have the form" in str(refused.value)
    assert "hidden" not in str(refused.value)
