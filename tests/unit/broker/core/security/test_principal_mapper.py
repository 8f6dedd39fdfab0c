"""``ssl.principal.mapping.rules``: the rule that applies first names the principal, and a wrong one is refused."""

from __future__ import annotations

import pytest

from oncelog.broker.core.login.distinguished_name import PrincipalMapper
from oncelog.errors import ConfigError

SUBJECT = "CN=Alice,OU=it,O=example"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("", SUBJECT),
        ("DEFAULT", SUBJECT),
        ("RULE:^CN=(.*?),.*$/$1/", "Alice"),
        ("RULE:^CN=(.*?),.*$/$1/L", "alice"),
        ("RULE:^CN=(.*?),.*$/$1/U, DEFAULT", "ALICE"),
        ("RULE:^CN=(.*?),OU=(\\w+).*$/$2@$1/", "it@Alice"),
        ("RULE:^CN=Bob.*$/bob/, DEFAULT", SUBJECT),
        ("RULE:^CN=Bob.*$/bob/", None),
    ],
)
def test_the_first_rule_that_matches_names_the_principal(rules: str, name: str | None) -> None:
    assert PrincipalMapper(rules).name(SUBJECT) == name


@pytest.mark.parametrize("pattern", ["(", "a{4294967296}", "(" * 3000 + ")" * 3000])
def test_a_pattern_that_cannot_be_compiled_is_refused(pattern: str) -> None:
    """Python fails on a count that is too large, and on groups that nest too deeply, in other ways than on the rest."""
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules: .* is not a regular expression: "):
        PrincipalMapper(f"RULE:{pattern}/x/")


def test_an_invalid_rule_is_refused() -> None:
    with pytest.raises(ConfigError, match="has an invalid rule: 'RULES:x'; write DEFAULT or RULE:pattern/replacement/"):
        PrincipalMapper("RULES:x")
