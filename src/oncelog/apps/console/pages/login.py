"""Logs visitors in with their credentials for the broker, and logs them out."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from oncelog.apps.console.sessions import Link
from oncelog.apps.console.web import ConsoleRequest, set_session
from oncelog.client.core.client_errors import KafkaConnectionError, KafkaTimeoutError
from oncelog.errors import Error, KafkaError

_REFUSED = (Error.SASL_AUTHENTICATION_FAILED, Error.ILLEGAL_SASL_STATE, Error.UNSUPPORTED_SASL_MECHANISM)


async def form(visit: ConsoleRequest) -> Response:
    """The login form; a visitor who needs no login is redirected."""
    if visit.session.link is not None:
        return RedirectResponse("/topics", 303)
    return visit.page("login.html", problem="", next=_within(visit.query("next")))


async def enter(visit: ConsoleRequest) -> Response:
    """Log in to the broker as this user, and continue in a new session."""
    user, password = visit.field("user"), (visit.form.get("password") or [""])[-1]
    console = visit.console
    link = Link(console.settings.admin_config(user, password))
    try:
        await link.admin()
    except (KafkaConnectionError, KafkaTimeoutError) as error:
        return visit.page("login.html", 503, problem=f"The broker is not answering: {error}", next=_next(visit))
    except KafkaError as error:
        text = "The broker refused this user or password." if error.error in _REFUSED else str(error)
        return visit.page("login.html", 403, problem=text, next=_next(visit))
    console.sessions.end(visit.session)
    return set_session(visit, console.sessions.begin(link, user), RedirectResponse(_next(visit), 303))


async def leave(visit: ConsoleRequest) -> Response:
    """End the session and its connection."""
    visit.console.sessions.end(visit.session)
    return set_session(visit, visit.console.sessions.begin(), RedirectResponse("/login", 303))


def _next(visit: ConsoleRequest) -> str:
    return _within(visit.field("next"))


def _within(address: str) -> str:
    """The given address if it is a page of this console other than the login page, otherwise the address of the list of
    topics."""
    own = address.startswith("/") and not address.startswith(("//", "/\\", "/login")) and address.isprintable()
    return address if own else "/topics"
