"""Decides whether a principal is authorized, by the rules of Apache Kafka's ``StandardAuthorizer``; pure.

Called by the APIs for every resource that a request names, if ``authorizer.class.name`` is set; without it there is no
authorizer and nothing is checked. Rules
- A super user may do everything.
- A single ACL that denies outweighs all ACLs that allow. An ACL applies if its principal (or ``User:*``), its host (or
  ``*``), its operation (or ALL) and its resource match: literally, by prefix, or as the wildcard ``*``.
- If an ACL allows READ, WRITE, DELETE or ALTER, DESCRIBE is allowed too; ALTER_CONFIGS allows DESCRIBE_CONFIGS.
- If no ACL matches, the request is refused; if the resource has no ACL at all, ``allow.everyone.if.no.acl.found``
  decides.

Invariant: decisions are cached only until the ACLs change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from enum import Enum
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError
from oncelog.protocol.acls import (
    WILDCARD,
    Acl,
    AclResourceType,
    Operation,
    PatternType,
    Permission,
)

if TYPE_CHECKING:
    from oncelog.broker.metadata.store import MetadataStore
    from oncelog.settings.config import BrokerConfig

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
EVERYBODY = "User:*"
MAX_REMEMBERED = 100_000
"""Limit on the number of cached decisions; beyond it all are dropped, so that invented names cannot exhaust the
memory."""

_IMPLIED_BY: dict[int, frozenset[int]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}
_SOME_RESOURCE = "hardcode"
"""The resource name that Kafka checks to find out whether a principal may use any resource of a type."""


class _Verdict(Enum):
    ALLOWED = 1
    DENIED = 2
    ACLS_FOR_OTHERS = 3
    NO_ACLS = 4


class Authorizer:
    """Decides by the ACLs given to :meth:`change`.

    :param super_users: principals, ``User:name``.
    :param allow_without_acls: the value of ``allow.everyone.if.no.acl.found``.
    """

    def __init__(self, super_users: Collection[str], *, allow_without_acls: bool, acls: Iterable[Acl] = ()) -> None:
        self.super_users = frozenset(super_users)
        self.allow_without_acls = allow_without_acls
        self._literal: dict[tuple[int, str], dict[Acl, None]] = {}
        self._prefixed: dict[int, dict[str, dict[Acl, None]]] = {}
        self._prefix_lengths: dict[int, Counter[int]] = {}
        self._remembered: dict[tuple[str, str, int, int, str], bool] = {}
        self.change(acls)

    def change(self, added: Iterable[Acl] = (), removed: Iterable[Acl] = ()) -> None:
        """Add and remove ACLs, with immediate effect; the cost depends only on the number of these ACLs."""
        for acl in removed:
            self._remove(acl)
        literal = self._literal
        for acl in added:
            if acl.pattern_type == PatternType.LITERAL:
                literal.setdefault((acl.resource_type, acl.resource_name), {})[acl] = None
            else:
                self._add_prefixed(acl)
        self._remembered = {}

    def _add_prefixed(self, acl: Acl) -> None:
        kind, name = acl.resource_type, acl.resource_name
        known = self._prefixed.setdefault(kind, {})
        if name not in known:
            known[name] = {}
            self._prefix_lengths.setdefault(kind, Counter())[len(name)] += 1
        known[name][acl] = None

    def _remove(self, acl: Acl) -> None:
        kind, name = acl.resource_type, acl.resource_name
        literal = acl.pattern_type == PatternType.LITERAL
        acls = self._literal.get((kind, name)) if literal else self._prefixed.get(kind, {}).get(name)
        if acls is None or acl not in acls:
            return
        del acls[acl]
        if acls:
            return
        if literal:
            del self._literal[kind, name]
            return
        del self._prefixed[kind][name]
        lengths = self._prefix_lengths[kind]
        lengths[len(name)] -= 1
        if not lengths[len(name)]:
            del lengths[len(name)]

    def allows(self, principal: str, host: str, operation: int, kind: int, name: str) -> bool:
        """Whether ``principal``, connected from ``host``, may do ``operation`` on the resource ``name`` of type
        ``kind``."""
        if principal in self.super_users:
            return True
        question = (principal, host, operation, kind, name)
        known = self._remembered.get(question)
        if known is not None:
            return known
        verdict = self._judge(principal, host, operation, kind, name)
        allowed = verdict is _Verdict.ALLOWED or (verdict is _Verdict.NO_ACLS and self.allow_without_acls)
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[question] = allowed
        return allowed

    def allows_some(self, principal: str, host: str, operation: int, kind: int) -> bool:
        """Whether ``principal`` may do ``operation`` on at least one possible resource of type ``kind``.

        Source: Kafka's ``Authorizer.authorizeByResourceType``.
        """
        if self.allows(principal, host, operation, kind, _SOME_RESOURCE):
            return True
        mine = [acl for acl in self._of_type(kind) if _names_caller(acl, principal, host)]
        mine = [acl for acl in mine if acl.operation in (operation, Operation.ALL)]
        denied = {(acl.pattern_type, acl.resource_name) for acl in mine if acl.permission == Permission.DENY}
        allowed = {(acl.pattern_type, acl.resource_name) for acl in mine if acl.permission == Permission.ALLOW}
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return (PatternType.LITERAL, WILDCARD) in allowed or any(
            not _outweighed(pattern, name, denied) for pattern, name in allowed
        )

    def _of_type(self, kind: int) -> Iterable[Acl]:
        for (literal_kind, _), acls in self._literal.items():
            if literal_kind == kind:
                yield from acls
        for acls in self._prefixed.get(kind, {}).values():
            yield from acls

    def _judge(self, principal: str, host: str, operation: int, kind: int, name: str) -> _Verdict:
        verdict = _Verdict.NO_ACLS
        for acls in self._matching(kind, name):
            verdict = _Verdict.ACLS_FOR_OTHERS if verdict is _Verdict.NO_ACLS else verdict
            for acl in acls:
                if not _names_caller(acl, principal, host) or not _covers(acl, operation):
                    continue
                if acl.permission == Permission.DENY:
                    return _Verdict.DENIED
                verdict = _Verdict.ALLOWED
        return verdict

    def _matching(self, kind: int, name: str) -> Iterable[Iterable[Acl]]:
        """The ACLs whose pattern matches the resource."""
        for literal in dict.fromkeys((name, WILDCARD)):
            acls = self._literal.get((kind, literal))
            if acls:
                yield acls
        prefixes = self._prefixed.get(kind, {})
        for length in sorted(self._prefix_lengths.get(kind, ())):
            if length > len(name):
                return
            acls = prefixes.get(name[:length])
            if acls:
                yield acls


def _names_caller(acl: Acl, principal: str, host: str) -> bool:
    return acl.principal in (principal, EVERYBODY) and acl.host in (host, WILDCARD)


def _covers(acl: Acl, operation: int) -> bool:
    if acl.operation in (operation, Operation.ALL):
        return True
    return acl.permission == Permission.ALLOW and acl.operation in _IMPLIED_BY.get(operation, ())


def _outweighed(pattern: int, name: str, denied: set[tuple[int, str]]) -> bool:
    if pattern == PatternType.LITERAL and (PatternType.LITERAL, name) in denied:
        return True
    return any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))


def super_users_in(text: str) -> frozenset[str]:
    """The principals in ``super.users``, which are separated by semicolons."""
    return frozenset(part.strip() for part in text.split(";") if part.strip())


def authorizer_of(config: BrokerConfig, metadata: MetadataStore) -> Authorizer | None:
    """The authorizer selected by ``authorizer.class.name``; None if that is empty.

    :raises ConfigError: the setting names a class other than Apache Kafka's own.
    """
    name = config.authorizer_class_name
    if not name:
        return None
    if name != STANDARD_AUTHORIZER:
        raise ConfigError(f"authorizer.class.name is {name}; this broker has only {STANDARD_AUTHORIZER}")
    return Authorizer(
        super_users_in(config.super_users),
        allow_without_acls=config.allow_everyone_if_no_acl_found,
        acls=metadata.acls(),
    )


def resource_name(kind: int) -> str:
    """The name of a resource type in the security log, as in Kafka's audit log."""
    return "".join(word.capitalize() for word in AclResourceType(kind).name.split("_"))
