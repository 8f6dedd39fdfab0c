"""A client of schema registries with Confluent's REST API: ours, Confluent's, Karapace, and Apicurio's compatible API.

Called by serializers, commands, the console and Spark's workers, in any thread. Schemas by id never change, so they are
cached for good; the latest version of a subject is cached for a minute, and an unknown id for :data:`MISSING_S`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar
from urllib.parse import quote

from oncelog.errors import ConfigError
from oncelog.runtime import real_time
from oncelog.schemas.schema_errors import SchemaRegistryError
from oncelog.schemas.structs import AVRO, Reference, RegisteredSchema, Schema
from oncelog.schemas.transport import RegistryAddress, Transport, basic, parse_urls, tls_context

MAX_KEPT = 10_000
MISSING_S = 10.0
"""Seconds for which an id that the registry does not know is not requested again."""
LATEST_S = 60.0
MAX_REFERENCES = 1_000
LATEST = "latest"
DEFAULT_CONTEXT = "."
NOT_FOUND = 40403
MAX_ID = 2**31 - 1
T = TypeVar("T")


class SchemaRegistry:
    """A client of a schema registry; blocking, for any number of threads. :class:`AsyncSchemaRegistry` is for asyncio.

    :param url: the registry's address, or several separated by commas; may contain credentials for basic
        authentication.
    :param user: the user for basic authentication, with ``password``.
    :param token: a bearer token, or a function that returns one for each request.
    :param ca_file: a PEM file of the trusted certificate authorities; by default the system's.
    :param certificate: a PEM file with this client's certificate, for mutual TLS; its ``key`` may be in the same file.
    :param timeout_s: the maximum duration of a request, retries included.
    :param retries: how often a request is repeated when the registry cannot be reached.
    :param latest_s: how long the latest version of a subject is cached.
    :raises ConfigError: the address is invalid, or a file cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        user: str | None = None,
        password: str | None = None,
        token: str | Callable[[], str] | None = None,
        ca_file: str | None = None,
        certificate: str | None = None,
        key: str | None = None,
        timeout_s: float = 10.0,
        retries: int = 3,
        latest_s: float = LATEST_S,
    ) -> None:
        if timeout_s <= 0 or retries < 0:
            raise ConfigError("timeout_s must be more than 0, and retries at least 0")
        urls, credentials = parse_urls(url)
        if user is not None:
            credentials = basic(user, password or "")
        if credentials is not None and token is not None:
            raise ConfigError("requests to a schema registry carry a user and a password, or a token, not both")
        tls = tls_context(ca_file, certificate, key)
        self._transport = Transport(RegistryAddress(urls, _authorization(credentials, token), tls, timeout_s, retries))
        self._latest_s = latest_s
        self._lock = threading.Lock()
        self._kept: dict[tuple[Any, ...], Any] = {}
        self._until: dict[tuple[Any, ...], tuple[float, Any]] = {}

    def __repr__(self) -> str:
        return f"SchemaRegistry({self._transport.shown!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the registry's connections; a later request opens a new one."""
        self._transport.close()

    @property
    def url(self) -> str:
        """The registry's addresses, without credentials."""
        return self._transport.shown

    def schema(self, schema_id: int, form: str = "") -> Schema:
        """A schema by its id.

        :param form: the form of the text, as the registry names it, such as ``serialized`` for Protobuf.
        :raises SchemaRegistryError: there is no such id, or the registry cannot be asked.
        """
        key = ("schema", schema_id, form)
        found = self._remembered(key)
        if isinstance(found, SchemaRegistryError):
            raise SchemaRegistryError(str(found), found.status, found.code)
        if found is None:
            try:
                answer = self._ask("GET", f"/schemas/ids/{schema_id}" + (f"?format={form}" if form else ""))
            except SchemaRegistryError as error:
                if error.is_not_found:
                    self._keep_for(key, error, MISSING_S)
                raise
            answered = answer.get("id", schema_id) if isinstance(answer, Mapping) else schema_id
            if answered != schema_id:
                raise _mixed_up(self.url, f"schema id {schema_id}", f"schema id {answered!r}")
            found = self._keep(key, _schema(self.url, answer))
        return found  # type: ignore[no-any-return]

    def id_of(self, guid: str) -> int:
        """The id of a GUID that a record's header names; if the GUID has several ids, one in the default context.

        :raises SchemaRegistryError: there is no such GUID, the registry has no GUIDs, or it cannot be asked.
        """
        key = ("guid", guid)
        found = self._remembered(key)
        if isinstance(found, SchemaRegistryError):
            raise SchemaRegistryError(str(found), found.status, found.code)
        if found is None:
            try:
                listed = _list(self.url, self._ask("GET", f"/schemas/guids/{guid}/ids"), dict)
            except SchemaRegistryError as error:
                if error.status != 404:
                    raise
                listed = []
            # Confluent's registry returns an empty list for an unknown GUID; older registries answer 404
            if not listed:
                raise self._keep_for(
                    key,
                    SchemaRegistryError(
                        f"the schema registry {self.url} has no schema with the GUID {guid}; registries before "
                        "Confluent's 8.0 have no GUIDs",
                        404,
                        NOT_FOUND,
                    ),
                    MISSING_S,
                )
            listed.sort(key=lambda one: one.get("context") != DEFAULT_CONTEXT)
            found = self._keep(key, _id(self.url, listed[0]))
        return int(found)

    def where_used(self, schema_id: int) -> list[tuple[str, int]]:
        """The subjects and versions that have this schema; cached as long as a latest version."""

        def ask() -> list[tuple[str, int]]:
            answer = _list(self.url, self._ask("GET", f"/schemas/ids/{schema_id}/versions"), dict)
            return [(_text(self.url, one, "subject"), _number(self.url, one, "version")) for one in answer]

        return self._for_a_while(("used", schema_id), ask)

    def subjects(self, *, deleted: bool = False) -> list[str]:
        """All subjects; with ``deleted`` the soft-deleted ones, too."""
        return _list(self.url, self._ask("GET", "/subjects" + ("?deleted=true" if deleted else "")), str)

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        """The numbers of a subject's versions."""
        more = "?deleted=true" if deleted else ""
        return _list(self.url, self._ask("GET", f"/subjects/{_quoted(subject)}/versions{more}"), int)

    def version(self, subject: str, version: int | str = LATEST, form: str = "") -> RegisteredSchema:
        """A version of a subject. The latest version is requested each time."""
        more = f"?format={form}" if form else ""
        answer = self._ask("GET", f"/subjects/{_quoted(subject)}/versions/{version}{more}")
        return _registered(self.url, answer, subject, version)

    def latest(self, subject: str) -> RegisteredSchema:
        """A subject's latest version; cached for ``latest_s``, so a newer version may exist already."""
        return self._for_a_while(("latest", subject), lambda: self.version(subject))

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> int:
        """Register a schema unless it is registered already, and return its id.

        :raises SchemaRegistryError: with status 409 if the schema is not compatible with the registered versions.
        """
        key = ("id", subject, schema, normalize)
        known = self._remembered(key)
        if known is None:
            more = "?normalize=true" if normalize else ""
            answer = self._ask("POST", f"/subjects/{_quoted(subject)}/versions{more}", _body(schema))
            known = self._keep(key, _id(self.url, answer))
            with self._lock:
                self._until.pop(("latest", subject), None)
        return int(known)

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """The version of a subject that has this schema.

        :raises SchemaRegistryError: the schema is not registered in the subject.
        """
        key = ("version", subject, schema, normalize)
        found: RegisteredSchema | None = self._remembered(key)
        if found is None:
            more = "?normalize=true" if normalize else ""
            answer = self._ask("POST", f"/subjects/{_quoted(subject)}{more}", _body(schema))
            found = self._keep(key, _registered(self.url, answer, subject))
        return found

    def problems(self, subject: str, schema: Schema, version: int | str = LATEST) -> list[str]:
        """Why a schema could not become the next version of a subject, according to its compatibility level; empty if
        it could."""
        answer = self._ask(
            "POST", f"/compatibility/subjects/{_quoted(subject)}/versions/{version}?verbose=true", _body(schema)
        )
        if not isinstance(answer, dict) or not isinstance(answer.get("is_compatible"), bool):
            raise _lies(self.url, "is_compatible")
        messages = [str(one) for one in answer.get("messages") or []]
        return [] if answer["is_compatible"] else messages or ["it is not compatible; the registry does not say why"]

    def compatibility(self, subject: str) -> str:
        """The level that applies to a subject: its own or the registry's."""
        answer = self._ask("GET", f"/config/{_quoted(subject)}?defaultToGlobal=true")
        return _text(self.url, answer, "compatibilityLevel")

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete a subject and return its versions. With ``permanent``, a subject that was soft-deleted before is
        removed."""
        more = "?permanent=true" if permanent else ""
        return self._deleted(_list(self.url, self._ask("DELETE", f"/subjects/{_quoted(subject)}{more}"), int))

    def delete_version(self, subject: str, version: int | str, *, permanent: bool = False) -> int:
        """Delete a version and return its number. With ``permanent``, a version that was soft-deleted before is
        removed."""
        more = "?permanent=true" if permanent else ""
        answer = self._ask("DELETE", f"/subjects/{_quoted(subject)}/versions/{version}{more}")
        return self._deleted(_whole(self.url, answer, "a version"))

    def dependencies(self, schema: Schema, form: str = "") -> dict[str, Schema]:
        """All schemas that a schema refers to, directly or indirectly, by name; each comes after those that it refers
        to.

        :raises SchemaRegistryError: a schema is missing, they refer to each other in a circle, or there are too many.
        """
        found: dict[str, Schema] = {}
        self._add_dependencies(schema, form, found, ())
        return found

    def _add_dependencies(
        self, schema: Schema, form: str, found: dict[str, Schema], around: tuple[tuple[str, int], ...]
    ) -> None:
        for reference in schema.references:
            version = (reference.subject, reference.version)
            if version in around or len(around) + len(found) > MAX_REFERENCES:
                raise SchemaRegistryError(
                    f"the references of {reference.subject} version {reference.version} form a circle or are more than "
                    f"{MAX_REFERENCES}"
                )
            if reference.name in found:
                continue
            needed = self._exact(reference.subject, reference.version, form)
            self._add_dependencies(needed, form, found, (*around, version))
            found[reference.name] = needed

    def _exact(self, subject: str, version: int, form: str) -> Schema:
        """The schema of a version, even if the version was deleted since, because other schemas may still refer to
        it."""
        key = ("exact", subject, version, form)
        found: Schema | None = self._remembered(key)
        if found is None:
            more = f"&format={form}" if form else ""
            answer = self._ask("GET", f"/subjects/{_quoted(subject)}/versions/{version}?deleted=true{more}")
            found = self._keep(key, _registered(self.url, answer, subject, version).schema)
        return found

    def _ask(self, method: str, target: str, body: Any = None) -> Any:
        return self._transport.request(method, target, body)

    def _deleted(self, answer: T) -> T:
        """Remove the cache's entries that a deletion may have changed; returns the answer."""
        with self._lock:
            self._until.clear()
            for key in [key for key in self._kept if key[0] in ("id", "version")]:
                del self._kept[key]
        return answer

    def _remembered(self, key: tuple[Any, ...]) -> Any:
        with self._lock:
            if key in self._kept:
                return self._kept[key]
            until, found = self._until.get(key, (0.0, None))
        return found if until > real_time.monotonic() else None

    def _keep(self, key: tuple[Any, ...], value: T) -> T:
        with self._lock:
            if len(self._kept) >= MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = value
        return value

    def _keep_for(self, key: tuple[Any, ...], value: T, seconds: float) -> T:
        with self._lock:
            if len(self._until) >= MAX_KEPT:
                del self._until[next(iter(self._until))]
            self._until[key] = (real_time.monotonic() + seconds, value)
        return value

    def _for_a_while(self, key: tuple[Any, ...], ask: Callable[[], T]) -> T:
        found: T | None = self._remembered(key)
        return self._keep_for(key, ask(), self._latest_s) if found is None else found


def _authorization(credentials: str | None, token: str | Callable[[], str] | None) -> Callable[[], str] | None:
    if credentials is not None:
        return lambda: credentials
    if token is None:
        return None
    given = token
    return lambda: f"Bearer {given() if callable(given) else given}"


def _quoted(subject: str) -> str:
    try:
        return quote(subject, safe="")
    except UnicodeEncodeError as error:  # JSON may contain half of a surrogate pair
        raise SchemaRegistryError(f"the subject {subject!r} must be a string") from error


def _body(schema: Schema) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": schema.text}
    if schema.schema_type != AVRO:
        body["schemaType"] = schema.schema_type
    if schema.references:
        body["references"] = [
            {"name": one.name, "subject": one.subject, "version": one.version} for one in schema.references
        ]
    return body


def _lies(url: str, what: str) -> SchemaRegistryError:
    return SchemaRegistryError(f"{url} does not answer as a schema registry: its answer has no usable {what}")


def _whole(url: str, value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _lies(url, what)
    return value


def _number(url: str, answer: Any, name: str) -> int:
    return _whole(url, answer.get(name) if isinstance(answer, Mapping) else None, name)


def _text(url: str, answer: Any, name: str, default: str | None = None) -> str:
    value = answer.get(name, default) if isinstance(answer, Mapping) else None
    if not isinstance(value, str):
        raise _lies(url, name)
    return value


def _list(url: str, answer: Any, kind: type[T]) -> list[T]:
    if not isinstance(answer, list) or not all(type(one) is kind for one in answer):
        raise _lies(url, "list")
    return answer


def _schema(url: str, answer: Any) -> Schema:
    schema_type = _text(url, answer, "schemaType", AVRO)
    listed: Sequence[Any] = _list(url, answer.get("references") or [], dict)
    references = tuple(
        Reference(_text(url, one, "name"), _text(url, one, "subject"), _number(url, one, "version")) for one in listed
    )
    return Schema(_text(url, answer, "schema"), schema_type, references)


def _id(url: str, answer: Any) -> int:
    found = _number(url, answer, "id")
    if not 0 <= found <= MAX_ID:
        raise _lies(url, f"id: it is {found}, and records carry 0 to {MAX_ID}")
    return found


def _registered(url: str, answer: Any, subject: str, version: int | str = LATEST) -> RegisteredSchema:
    """The version in a registry's answer; an answer about another version than the requested one is refused."""
    schema = _schema(url, answer)
    guid = answer.get("guid")
    found = RegisteredSchema(
        _text(url, answer, "subject"),
        _number(url, answer, "version"),
        _id(url, answer),
        schema,
        guid if isinstance(guid, str) else None,
        tuple(_writers_rules(answer.get("ruleSet"))),
    )
    if found.subject != subject:
        raise _mixed_up(url, f"subject {subject}", f"subject {found.subject}")
    if version not in (LATEST, "-1", -1) and str(version).lstrip("0") != str(found.version):
        raise _mixed_up(url, f"{subject} version {version}", f"version {found.version}")
    return found


def _writers_rules(rule_set: Any) -> Iterator[str]:
    for phase in ("domainRules", "encodingRules"):
        for rule in rule_set.get(phase) or () if isinstance(rule_set, Mapping) else ():
            if rule.get("mode") != "READ" and not rule.get("disabled"):
                yield str(rule.get("name"))


def _mixed_up(url: str, asked: str, answered: str) -> SchemaRegistryError:
    return SchemaRegistryError(
        f"{url} was asked for {asked} and answers with {answered}, which is not used: check whether a proxy confuses "
        f"its answers, or request {answered} if that is the right one"
    )
