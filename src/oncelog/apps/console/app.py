"""The console as a web application: its routes, and the server that runs it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from oncelog.apps.console.console_settings import ConsoleSettings
from oncelog.apps.console.guard import RequestGuard
from oncelog.apps.console.pages import (
    acls,
    cluster,
    groups,
    login,
    partition,
    pipelines,
    records,
    redrive,
    schemas,
    topics,
    transactions,
)
from oncelog.apps.console.pipelines import Pipelines
from oncelog.apps.console.schema_lookup import RegistryReader
from oncelog.apps.console.sessions import Link, Sessions
from oncelog.apps.console.web import Console, ConsoleRequest, acts, shows, templates
from oncelog.errors import OncelogError
from oncelog.runtime import forks
from oncelog.runtime import real_asyncio as asyncio

GRACE_SECONDS = 2
BACKLOG = 256


def application(settings: ConsoleSettings) -> Starlette:
    """The console of one cluster."""
    shared = None if settings.asks_for_login else Link(settings.admin_config())
    reader = RegistryReader(settings.schema_registry) if settings.schema_registry else None
    console = Console(settings, Sessions(shared), templates(), Pipelines(), reader, asyncio.Event())

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await console.sessions.close()

    app = Starlette(
        routes=_routes(),
        middleware=[Middleware(RequestGuard, hosts=settings.hosts)],
        lifespan=lifespan,
    )
    app.state.console = console
    return app


def _routes() -> list[Route | Mount]:
    return [
        Route("/", _home),
        Route("/login", shows(login.form, open_to_all=True)),
        Route("/login", acts(login.enter, changes=False, open_to_all=True), methods=["POST"]),
        Route("/logout", acts(login.leave, changes=False), methods=["POST"]),
        Route("/topics", shows(topics.listing)),
        Route("/topic", shows(topics.one)),
        Route("/topic/create", shows(topics.create_form)),
        Route("/topic/create", acts(topics.create), methods=["POST"]),
        Route("/topic/delete", shows(topics.confirm_delete)),
        Route("/topic/delete", acts(topics.delete), methods=["POST"]),
        Route("/topic/partitions", shows(topics.partitions_form)),
        Route("/topic/partitions", acts(topics.add_partitions), methods=["POST"]),
        Route("/topic/readers", shows(groups.readers)),
        Route("/records", shows(records.browse)),
        Route("/records/live", shows(records.live)),
        Route("/records/schema", acts(records.schema, changes=False), methods=["POST"]),
        Route("/record", shows(records.one)),
        Route("/record/raw", shows(records.raw)),
        Route("/partition", shows(partition.page)),
        Route("/transactions", shows(transactions.listing)),
        Route("/transactions/hanging", shows(transactions.hanging)),
        Route("/transaction", shows(transactions.one)),
        Route("/transaction/end", shows(transactions.confirm_end)),
        Route("/transaction/end", acts(transactions.end), methods=["POST"]),
        Route("/transaction/end-hanging", acts(transactions.end_hanging), methods=["POST"]),
        Route("/producers", shows(transactions.producers)),
        Route("/groups", shows(groups.listing)),
        Route("/group", shows(groups.one)),
        Route("/group/reset", shows(groups.plan_reset)),
        Route("/group/reset", acts(groups.reset), methods=["POST"]),
        Route("/group/delete", shows(groups.confirm_delete)),
        Route("/group/delete", acts(groups.delete), methods=["POST"]),
        Route("/redrive", shows(redrive.preview)),
        Route("/redrive", acts(redrive.carry_out), methods=["POST"]),
        Route("/pipelines", shows(pipelines.listing)),
        Route("/api/pipelines", pipelines.report, methods=["POST"]),
        Route("/brokers", shows(cluster.brokers)),
        Route("/broker", shows(cluster.broker)),
        Route("/setting", shows(cluster.setting)),
        Route("/setting", acts(cluster.change), methods=["POST"]),
        Route("/schemas", shows(schemas.listing)),
        Route("/schema", shows(schemas.one)),
        Route("/acls", shows(acls.listing)),
        Route("/acl/add", shows(acls.add_form)),
        Route("/acl/add", acts(acls.add), methods=["POST"]),
        Route("/acl/remove", shows(acls.confirm_remove)),
        Route("/acl/remove", acts(acls.remove), methods=["POST"]),
        Mount("/static", StaticFiles(directory=str(files("oncelog.apps.console") / "static"))),
        Route("/{path:path}", shows(_nowhere)),
    ]


async def _nowhere(visit: ConsoleRequest) -> Response:
    return visit.page(
        "error.html", 404, heading="Page not found", gone=False,
        problem="the console has no such address; start at Topics",
    )  # fmt: skip


async def _home(request: Request) -> Response:
    return RedirectResponse("/topics")


async def serve(
    settings: ConsoleSettings, host: str, port: int, announce: Callable[[str], None], ended: asyncio.Event
) -> None:
    """Serve until ``ended``; ``announce`` is called with the address once browsers can connect.

    :raises OncelogError: it cannot listen at the address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(
        family, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # without IPPROTO_TCP asyncio delays small writes
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise OncelogError(f"the console cannot listen on {host}:{port}: {error.strerror}") from error
    app = application(settings)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            limit_concurrency=1000,
        )
    )
    sockets = forks.HttpSockets(server, listening)
    forks.let_go_in_children(sockets)
    task = asyncio.ensure_future(_serve(server, listening))
    shown = f"[{host}]" if ":" in host else host
    announce(f"http://{shown}:{listening.getsockname()[1]}")
    stop = asyncio.ensure_future(ended.wait())
    await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    app.state.console.ended.set()
    server.should_exit = True
    await task


async def _serve(server: uvicorn.Server, listening: socket.socket) -> None:
    """Do nothing: the command handles signals and sets ``ended``."""
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    await server.serve(sockets=[listening])
