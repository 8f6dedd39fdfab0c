"""A request as pages see it: the visitor, the parameters, and the ways to respond.

A page is a coroutine that takes a :class:`ConsoleRequest` and returns a response. If the broker refuses something, the
response is a page with the reason; if the broker could not be reached, that page reloads itself.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, fields
from hashlib import sha256
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from oncelog.apps.console.console_settings import ConsoleSettings
from oncelog.apps.console.filters import FILTERS
from oncelog.apps.console.pipelines import Pipelines
from oncelog.apps.console.readers import GroupPositions
from oncelog.apps.console.schema_lookup import RegistryReader
from oncelog.apps.console.sessions import ConsoleSession, Link, Sessions
from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.admin.log_reader import Producers
from oncelog.client.core.client_errors import KafkaConnectionError, KafkaTimeoutError
from oncelog.client.core.config import ClientConfig
from oncelog.errors import ConfigError, Error, KafkaError, OncelogError
from oncelog.runtime import real_asyncio as asyncio
from oncelog.schemas.schema_errors import SchemaRegistryError

log = logging.getLogger(__name__)
_NOT_THERE = (KafkaConnectionError, KafkaTimeoutError)
_STATUS = {
    Error.TOPIC_AUTHORIZATION_FAILED: 403,
    Error.GROUP_AUTHORIZATION_FAILED: 403,
    Error.CLUSTER_AUTHORIZATION_FAILED: 403,
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 403,
    Error.SASL_AUTHENTICATION_FAILED: 403,
    Error.SECURITY_DISABLED: 404,
    Error.INVALID_TOPIC_EXCEPTION: 404,
    Error.UNKNOWN_TOPIC_OR_PARTITION: 404,
    Error.TRANSACTIONAL_ID_NOT_FOUND: 404,
    Error.GROUP_ID_NOT_FOUND: 404,
}


@dataclass(frozen=True, slots=True)
class Console:
    """The state of the console that all requests share."""

    settings: ConsoleSettings
    sessions: Sessions
    templates: Environment
    pipelines: Pipelines
    registry: RegistryReader | None
    ended: asyncio.Event
    """An event that is set when the console stops, to end live tails."""
    tails: set[object] = field(default_factory=set)
    """The open live tails."""


def templates() -> Environment:
    """The pages' templates: all values are escaped, and a missing name is an error."""
    environment = Environment(
        loader=PackageLoader("oncelog.apps.console"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["link"] = link
    environment.globals["static_version"] = _static_version()
    return environment


def _static_version() -> str:
    """A hash of the console's own files, which becomes part of their addresses, so that browsers may cache them."""
    found = sha256()
    for file in sorted((files("oncelog.apps.console") / "static").iterdir(), key=lambda one: one.name):
        found.update(file.read_bytes())
    return found.hexdigest()[:12]


def link(path: str, /, **query: object) -> str:
    """An address in the console. Names are put into the query, because a name such as ``../x`` would change the
    path."""
    given = {name: value for name, value in query.items() if value is not None and value != ""}
    # A value from a record's JSON may be half of a surrogate pair, which a URL cannot contain.
    return f"{path}?{urlencode(given, errors='replace')}" if given else path


class RefusedRequest(OncelogError):
    """The console refuses a visitor's request; the text says why and what to do."""


class ConsoleRequest:
    """One request of a visitor, as pages see it."""

    def __init__(self, console: Console, request: Request, session: ConsoleSession) -> None:
        self.console = console
        self.request = request
        self.session = session
        self.form: dict[str, list[str]] = {}

    # --- parameters

    def query(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    def number(self, name: str, default: int, low: int = 0, high: int = 2**63 - 1) -> int:
        """A number from the query, brought into the range from ``low`` to ``high``; ``default`` if the text is not a
        number."""
        text = self.query(name).strip().replace(",", "")
        try:
            return min(max(int(text), low), high)
        except ValueError:
            return default

    def name(self, what: str, parameter: str = "name") -> str:
        """A required name from the query.

        :raises RefusedRequest: it is empty.
        """
        text = self.query(parameter)
        if not text:
            raise RefusedRequest(f"the address contains no {what}: choose one on its page")
        return text

    def field(self, name: str, default: str = "") -> str:
        """A field of the submitted form."""
        values = self.form.get(name)
        return values[-1].strip() if values else default

    @property
    def _link(self) -> Link:
        if self.session.link is None:
            raise RefusedRequest("log in first")
        return self.session.link

    @property
    def client_settings(self) -> dict[str, Any]:
        """The settings with which the visitor's clients connect, as keyword arguments of any client."""
        return {one.name: getattr(self._link.config, one.name) for one in fields(ClientConfig)}

    async def admin(self) -> Admin:
        """The visitor's connection to the cluster."""
        return await self._link.admin()

    async def producers(self) -> Producers:
        """A cache of the transactional ids by producer id."""
        return await self._link.producers()

    async def group_positions(self, admin: Admin) -> GroupPositions:
        """The positions of all groups that the visitor may see."""
        return await self._link.groups.positions(admin)

    # --- responses

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template with the given values and those that every page needs, such as the user and the result of
        the last action."""
        flash, self.session.flash = self.session.flash, None
        settings = self.console.settings
        text = self.console.templates.get_template(template).render(
            csrf=self.session.csrf,
            user=self.session.user,
            asks_for_login=settings.asks_for_login,
            logged_in=self.session.link is not None,
            servers=settings.bootstrap_servers,
            allow_changes=settings.allow_changes,
            has_registry=self.console.registry is not None,
            here=self.here,
            path=self.request.url.path,
            flash=flash,
            **values,
        )
        # A record's JSON may contain half of a surrogate pair, which UTF-8 cannot encode.
        return HTMLResponse(text.encode(errors="backslashreplace"), status)

    @property
    def here(self) -> str:
        """The path and query of this request."""
        url = self.request.url
        return f"{url.path}?{url.query}" if url.query else url.path

    def done(self, text: str, path: str, /, **query: object) -> Response:
        """After an action, redirect to a page that shows ``text`` as the result."""
        self.session.flash = text
        return RedirectResponse(link(path, **query), 303)

    def failed(self, error: OncelogError) -> Response:
        """The error page."""
        gone = isinstance(error, _NOT_THERE)
        status = 503 if gone else 400
        if isinstance(error, KafkaError) and not gone:
            status = _STATUS.get(error.error, 502)
        if isinstance(error, SchemaRegistryError):
            status = 404 if error.is_not_found else 502
        heading = "The broker is not answering" if gone else "Not allowed" if status == 403 else "Request failed"
        if isinstance(error, ConfigError | RefusedRequest):
            heading = "Not possible"
        return self.page("error.html", status, heading=heading, problem=str(error), gone=gone)


Page = Callable[[ConsoleRequest], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


def cookie_name(request: Request) -> str:
    """The name of the session's cookie; it contains the port, because browsers share cookies between ports."""
    return f"oncelog-console-{request.url.port or 80}"


def shows(page: Page, *, open_to_all: bool = False) -> Endpoint:
    """An endpoint that only reads."""

    async def endpoint(request: Request) -> Response:
        visit, new = _visit(request)
        if visit.session.link is None and not open_to_all:
            response: Response = RedirectResponse(link("/login", next=visit.here), 303)
        else:
            response = await _answer(visit, page)
        return _with_cookie(visit, response) if new else response

    return endpoint


def acts(page: Page, *, changes: bool = True, open_to_all: bool = False) -> Endpoint:
    """An endpoint for a submitted form. If ``changes`` is set, it works only in a console that may change the
    cluster."""

    async def endpoint(request: Request) -> Response:
        visit, new = _visit(request)
        if visit.session.link is None and not open_to_all:
            return RedirectResponse("/login", 303)
        visit.form = await _form(request)
        if new or not _is_own(request, visit):
            return visit.page(
                "error.html", 403, heading="Not possible", gone=False,
                problem="this form did not come from this console, or its session has ended: open the page again",
            )  # fmt: skip
        if changes and not visit.console.settings.allow_changes:
            return visit.page(
                "error.html", 403, heading="This console is read-only", gone=False,
                problem="it was started without --allow-changes",
            )  # fmt: skip
        return await _answer(visit, page)

    return endpoint


async def _answer(visit: ConsoleRequest, page: Page) -> Response:
    try:
        return await page(visit)
    except OncelogError as error:
        log.info("%s: %s", visit.here, error)
        return visit.failed(error)


def _visit(request: Request) -> tuple[ConsoleRequest, bool]:
    console: Console = request.app.state.console
    session = console.sessions.find(request.cookies.get(cookie_name(request)))
    new = session is None
    return ConsoleRequest(console, request, session or console.sessions.begin()), new


def _with_cookie(visit: ConsoleRequest, response: Response) -> Response:
    secure = visit.request.url.scheme == "https"
    response.set_cookie(
        cookie_name(visit.request), visit.session.id, httponly=True, samesite="strict", secure=secure, path="/"
    )
    return response


def set_session(visit: ConsoleRequest, session: ConsoleSession, response: Response) -> Response:
    """Continue with another session after a login or logout."""
    visit.session = session
    return _with_cookie(visit, response)


async def _form(request: Request) -> dict[str, list[str]]:
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return {}
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl((await request.body()).decode(errors="replace"), keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


def _is_own(request: Request, visit: ConsoleRequest) -> bool:
    """Whether the form contains the session's secret, and the browser's Origin header, if there is one, names this
    console."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        return False
    return hmac.compare_digest(visit.field("csrf").encode(), visit.session.csrf.encode())
