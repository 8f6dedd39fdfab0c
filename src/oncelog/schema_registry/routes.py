"""The routes of the REST API and the form of its answers, as in Confluent's registry.

Called by the serving module, as an ASGI program. A path is split before it is decoded, because a subject may contain a
slash. A body is accepted only with a content type that needs a CORS preflight, which this registry never grants: so no
other site's page can send one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from oncelog.errors import OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.schema_registry import answers, rest_errors, rules
from oncelog.schema_registry.access import AccessControl, RequiredOperation
from oncelog.schema_registry.forwarding import FORWARDED, Forwarder
from oncelog.schema_registry.requests import json_object, submitted, version_of
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.schema_records import compact
from oncelog.schema_registry.service import NotWriter, Registry, Rule

log = logging.getLogger(__name__)

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
TAKEN = (
    CONTENT_TYPE,
    "application/vnd.schemaregistry+json",
    "application/json",
    "application/octet-stream",
)
_READS = ("GET", "HEAD")
BODY_SECONDS = 30.0
"""The time limit for a request's body to arrive: clients that never send a body must not use up the connections."""


CONFLUENTS_RELEASE = "8.0.0"
"""The release of Confluent's registry whose API this registry has; clients check it before they use newer features."""
DEFAULT_CONTEXT = ":.:"
"""The prefix of subjects in the default context; this registry has no other context."""


class RestRequest:
    """One request: the parts of its path, its parameters, its body."""

    def __init__(self, request: Request, path: tuple[str, ...], body: bytes) -> None:
        self.method = request.method
        self.path = path
        self.body = body
        self._query = request.query_params

    def flag(self, name: str) -> bool:
        return self._query.get(name, "").strip().lower() == "true"

    def text(self, name: str, default: str = "") -> str:
        return self._query.get(name, default)

    def pairs(self, names: str, values: str) -> dict[str, str]:
        """A dictionary from the values of one repeated parameter to those of another one.

        :raises Refused: the parameters are not repeated equally often.
        """
        given, wanted = self._query.getlist(names), self._query.getlist(values)
        if len(given) != len(wanted):
            raise Refused(
                400,
                400,
                f"{names} is given {len(given)} times, and {values} {len(wanted)} times: give one {values} for each "
                f"{names}",
            )
        return dict(zip(given, wanted, strict=True))

    def part(self, listed: list[Any]) -> list[Any]:
        """The part of a list that ``offset`` and ``limit`` select."""
        offset, limit = self._number("offset", 0), self._number("limit", -1)
        return listed[offset:] if limit < 0 else listed[offset : offset + limit]

    def _number(self, name: str, default: int) -> int:
        text = self._query.get(name, str(default))
        try:
            return max(int(text), -1)
        except ValueError:
            raise Refused(404, 404, f"{name} is not a number: {text!r}") from None


class App:
    """The REST API of one registry."""

    def __init__(self, registry: Registry, access: AccessControl, forwarder: Forwarder, max_body_bytes: int) -> None:
        self._registry = registry
        self._access = access
        self._forwarder = forwarder
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        except Refused as error:
            response = _json(error.status, {"error_code": error.code, "message": str(error)})
            if error.status == 401:
                response.headers["WWW-Authenticate"] = 'Basic realm="oncelog schema registry"'
        except OncelogError as error:
            log.warning("%s %s: %s", request.method, scope["path"], error)
            response = _json(500, {"error_code": 50001, "message": str(error)})
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        user = await self._access.enter(request)
        raw = request.scope.get("raw_path") or request.scope["path"].encode()
        path = tuple(unquote(part) for part in raw.decode("latin-1").partition("?")[0].split("/") if part)
        path = _in_default_context(tuple(part.removeprefix(DEFAULT_CONTEXT) for part in path))
        body = await self._body(request)
        call = RestRequest(request, path, body)
        found = _route(self._registry, call)
        reads = call.method in _READS or path[:1] == ("compatibility",) or _is_lookup(call)
        await self._access.check(user, RequiredOperation.READ if reads else RequiredOperation.WRITE)
        if isinstance(found, _Change):
            return await self._change(request, call, found.rule)
        answer = await found()
        return answer if isinstance(answer, Response) else _json(200, answer)

    async def _body(self, request: Request) -> bytes:
        if request.method in _READS:
            return b""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        size = request.headers.get("content-length", "")
        if size.isdigit() and int(size) > self._max_body_bytes:
            raise self._too_large()
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > self._max_body_bytes:
                        raise self._too_large()
        except TimeoutError:
            raise Refused(408, 408, f"HTTP 408 Request Timeout: no whole body within {BODY_SECONDS:g} s") from None
        if body and kind not in TAKEN:
            raise Refused(415, 415, f"HTTP 415 Unsupported Media Type: send {CONTENT_TYPE}")
        return bytes(body)

    def _too_large(self) -> Refused:
        return rest_errors.too_large(f"a body may have at most {self._max_body_bytes} bytes")

    async def _change(self, request: Request, call: RestRequest, rule: Rule) -> Response:
        for _ in range(2):
            try:
                return _json(200, await self._registry.change(rule))
            except NotWriter as other:
                if FORWARDED in request.headers:
                    raise rest_errors.unknown_leader(f"this registry does not write, {other.url} does") from None
                answer = await self._forwarder.forward(other.url, request, call.body)
                if answer is not None:
                    return Response(answer.body, answer.status, media_type=CONTENT_TYPE)
                await self._registry.take_over(other.url)
        raise rest_errors.unknown_leader("the writing registry changed too often; send the request again")


def _in_default_context(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path without its context, for clients whose registry URL contains the default context.

    :raises Refused: the path names another context.
    """
    if path[:1] != ("contexts",) or len(path) == 1:
        return path
    if path[1] in (".", ""):
        return path[2:]
    raise rest_errors.invalid_subject(path[1][:80], "this registry has no contexts; its URL ends before /contexts")


def _json(status: int, value: object) -> Response:
    return Response(compact(value), status, media_type=CONTENT_TYPE)


class _Change:
    """A request that changes the state, with the rule that decides it."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule


Question = Callable[[], Awaitable[Any]]


def _is_lookup(call: RestRequest) -> bool:
    return call.method == "POST" and len(call.path) == 2 and call.path[0] == "subjects"


def _route(registry: Registry, call: RestRequest) -> Question | _Change:
    """The query or the change that a request asks for.

    :raises Refused: the path is unknown, or does not allow this method.
    """
    tables: dict[str, Callable[[Registry, RestRequest], Question | _Change | None]] = {
        "subjects": _subjects,
        "schemas": _schemas,
        "config": _config,
        "mode": _mode,
        "compatibility": _compatibility,
        "contexts": _contexts,
        "v1": _about,
    }
    if not call.path and call.method in _READS:
        return _simple(registry, dict)
    table = tables.get(call.path[0]) if call.path else None
    found = table(registry, call) if table is not None else None
    if found is None:
        raise Refused(404, 404, f"HTTP 404 Not Found: this registry has no {call.method} /{'/'.join(call.path)}"[:300])
    return found


def _simple(registry: Registry, question: Callable[[], Any]) -> Question:
    """A query that is answered on the event loop, from the current state."""

    async def answer() -> Any:
        await registry.ready()
        return question()

    return answer


def _subjects(registry: Registry, call: RestRequest) -> Question | _Change | None:
    match call.method, call.path[1:]:
        case "GET" | "HEAD", ():
            return _simple(registry, lambda: _subject_list(registry, call))
        case "POST", (subject,):
            return partial(registry.ask, lambda: _looked_up(registry, call, subject))
        case "GET" | "HEAD", (subject, "metadata"):
            return _question(registry, call, lambda: _with_metadata(registry, call, subject))
        case "DELETE", (subject,):
            permanent = call.flag("permanent")
            return _Change(lambda state, _: rules.delete_subject(state, subject, permanent=permanent, url=registry.url))
        case _, (subject, "versions", *rest):
            return _versions(registry, call, subject, tuple(rest))
        case _:
            return None


def _subject_list(registry: Registry, call: RestRequest) -> list[str]:
    prefix = call.text("subjectPrefix", "").removeprefix(":*:")
    deleted, only = call.flag("deleted"), call.flag("deletedOnly")
    return call.part(answers.subjects(registry.state, prefix, deleted=deleted, deleted_only=only))


def _looked_up(registry: Registry, call: RestRequest, subject: str) -> dict[str, Any]:
    wanted = submitted(call.body, normalize=call.flag("normalize"))
    found = answers.lookup(registry.state, registry.checks, subject, wanted, deleted=call.flag("deleted"))
    return answers.shown(registry.state, registry.checks, found, call.text("format"))


def _versions(registry: Registry, call: RestRequest, subject: str, rest: tuple[str, ...]) -> Question | _Change | None:
    match call.method, rest:
        case "GET" | "HEAD", ():
            return _simple(registry, lambda: _version_list(registry, call, subject))
        case "POST", ():
            return _Change(
                lambda state, checks: rules.register(
                    state, checks, subject, submitted(call.body, normalize=call.flag("normalize"))
                )
            )
        case "GET" | "HEAD", (number,):
            return _question(registry, call, lambda: _one_version(registry, call, subject, number))
        case "GET" | "HEAD", (number, "schema"):
            return _question(registry, call, lambda: _raw(_one_version(registry, call, subject, number)["schema"]))
        case "GET" | "HEAD", (number, "referencedby"):
            return _simple(registry, lambda: _referenced_by(registry, call, subject, number))
        case "DELETE", (number,):
            return _Change(
                lambda state, _: rules.delete_version(
                    state,
                    subject,
                    answers.version(state, subject, version_of(number), deleted=True),
                    permanent=call.flag("permanent"),
                    url=registry.url,
                )
            )
        case _:
            return None


def _question(registry: Registry, call: RestRequest, question: Callable[[], Any]) -> Question:
    """A query that is answered in another thread if it asks for a format, because the schema is then parsed."""
    return partial(registry.ask, question) if call.text("format") else _simple(registry, question)


def _version_list(registry: Registry, call: RestRequest, subject: str) -> list[int]:
    deleted, only = call.flag("deleted"), call.flag("deletedOnly")
    return call.part(answers.versions(registry.state, subject, deleted=deleted, deleted_only=only))


def _one_version(registry: Registry, call: RestRequest, subject: str, number: str) -> dict[str, Any]:
    found = answers.version(registry.state, subject, version_of(number), deleted=call.flag("deleted"))
    return answers.shown(registry.state, registry.checks, found, call.text("format"))


def _with_metadata(registry: Registry, call: RestRequest, subject: str) -> dict[str, Any]:
    found = answers.with_metadata(registry.state, subject, call.pairs("key", "value"), deleted=call.flag("deleted"))
    return answers.shown(registry.state, registry.checks, found, call.text("format"))


def _referenced_by(registry: Registry, call: RestRequest, subject: str, number: str) -> list[int]:
    state = registry.state
    found = answers.version(state, subject, version_of(number), deleted=True)
    referring = state.referring(subject, found.version, deleted=call.flag("deleted"))
    return call.part(sorted({one.id for one in referring}))


def _raw(text: str) -> Response:
    return Response(text.encode(errors="surrogatepass"), media_type=CONTENT_TYPE)


def _schemas(registry: Registry, call: RestRequest) -> Question | None:
    if call.method not in _READS:
        return None
    match call.path[1:]:
        case ("types",):
            return _simple(registry, answers.types)
        case ():
            return _simple(registry, lambda: _every_version(registry, call))
        case ("ids", text, *rest):
            return _question(registry, call, lambda: _by_id(registry, call, _id(text), tuple(rest)))
        case ("guids", guid):
            return _question(registry, call, lambda: _by_id(registry, call, answers.by_guid(registry.state, guid), ()))
        case ("guids", guid, "ids"):
            return _simple(registry, lambda: [{"context": ".", "id": answers.by_guid(registry.state, guid)}])
        case _:
            return None


def _id(text: str) -> int:
    if not text.isdecimal() or int(text) > 2**31 - 1:
        raise Refused(404, 404, f"HTTP 404 Not Found: {text!r} is not an id")
    return int(text)


def _by_id(registry: Registry, call: RestRequest, schema_id: int, rest: tuple[str, ...]) -> Any:
    state, deleted = registry.state, call.flag("deleted")
    match rest:
        case ():
            content = answers.by_id(state, schema_id)
            text = answers.text(state, registry.checks, content, call.text("format"))
            shown = {"guid": content.guid, **content._replace(schema=text).shown()}
            return {**shown, "maxId": state.highest_id} if call.flag("fetchMaxId") else shown
        case ("schema",):
            return _raw(answers.text(state, registry.checks, answers.by_id(state, schema_id), call.text("format")))
        case ("subjects",):
            named = dict.fromkeys(name for name, _ in answers.places(state, schema_id, deleted=deleted))
            return call.part(list(named))
        case ("versions",):
            places = answers.places(state, schema_id, deleted=deleted)
            return call.part([{"subject": name, "version": number} for name, number in places])
        case _:
            raise Refused(404, 404, "HTTP 404 Not Found")


def _every_version(registry: Registry, call: RestRequest) -> list[dict[str, Any]]:
    prefix = call.text("subjectPrefix", "").removeprefix(":*:")
    state, deleted, latest = registry.state, call.flag("deleted"), call.flag("latestOnly")
    names = answers.subjects(state, prefix, deleted=deleted, deleted_only=False)
    every = [state.versions(name, deleted=deleted) for name in names]
    chosen = [one for listed in every for one in (listed[-1:] if latest else listed)]
    return [answers.shown(state, registry.checks, one, "") for one in call.part(chosen)]


def _config(registry: Registry, call: RestRequest) -> Question | _Change | None:
    return _setting(
        registry,
        call,
        answers.config,
        lambda state, subject: rules.set_config(state, subject, json_object(call.body)),
        rules.delete_config,
    )


def _mode(registry: Registry, call: RestRequest) -> Question | _Change | None:
    return _setting(
        registry,
        call,
        answers.mode,
        lambda state, subject: rules.set_mode(
            state, subject, json_object(call.body).get("mode"), force=call.flag("force")
        ),
        rules.delete_mode,
    )


def _setting(
    registry: Registry, call: RestRequest, get: Callable[..., Any], put: Callable[..., Any], delete: Callable[..., Any]
) -> Question | _Change | None:
    if len(call.path) > 2:
        return None
    subject = call.path[1] if len(call.path) == 2 else None
    match call.method:
        case "GET" | "HEAD":
            default = call.flag("defaultToGlobal")
            return _simple(registry, lambda: get(registry.state, subject, default=default))
        case "PUT":
            return _Change(lambda state, _: put(state, subject))
        case "DELETE":
            return _Change(lambda state, _: delete(state, subject))
        case _:
            return None


def _compatibility(registry: Registry, call: RestRequest) -> Question | None:
    match call.method, call.path[1:]:
        case "POST", ("subjects", subject, "versions"):
            return partial(registry.ask, lambda: _checked(registry, call, subject, None))
        case "POST", ("subjects", subject, "versions", number):
            return partial(registry.ask, lambda: _checked(registry, call, subject, version_of(number)))
        case _:
            return None


def _checked(registry: Registry, call: RestRequest, subject: str, number: int | None) -> dict[str, Any]:
    wanted = submitted(call.body, normalize=call.flag("normalize"))
    return answers.check(registry.state, registry.checks, subject, wanted, number, verbose=call.flag("verbose"))


def _about(registry: Registry, call: RestRequest) -> Question | None:
    match call.method, call.path[1:]:
        case "GET" | "HEAD", ("metadata", "id"):
            return registry.scope
        case "GET" | "HEAD", ("metadata", "version"):
            return _simple(registry, lambda: {"version": CONFLUENTS_RELEASE, "commitId": "oncelog"})
        case _:
            return None


def _contexts(registry: Registry, call: RestRequest) -> Question | None:
    return _simple(registry, lambda: ["."]) if call.method in _READS and len(call.path) == 1 else None
