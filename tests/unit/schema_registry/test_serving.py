"""The socket of a registry, and what may not be served."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from oncelog.broker.server.listener_settings import Address
from oncelog.schema_registry.serving import _Stoppable, bind


def test_answers_are_sent_without_delay() -> None:
    """asyncio sets TCP_NODELAY on accepted sockets whose protocol is named; else each answer takes 40 ms more."""
    with bind(Address("127.0.0.1", 0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert accepted.proto == socket.IPPROTO_TCP


async def _given_up(*, stopping: bool, begun: bool) -> list[Any]:
    """What is sent of a request whose task is cancelled."""
    waits, ended, sent = asyncio.Event(), asyncio.Event(), []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200})
        waits.set()
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    task = asyncio.ensure_future(_Stoppable(app, ended)({"type": "http"}, None, send))  # type: ignore[arg-type]
    await waits.wait()
    if stopping:
        ended.set()
    task.cancel()
    await task
    return sent


def test_a_request_abandoned_at_the_stop_is_answered_and_logs_no_error() -> None:
    start, body = asyncio.run(_given_up(stopping=True, begun=False))
    assert (start["status"], json.loads(body["body"])["error_code"]) == (503, 50005)
    assert len(asyncio.run(_given_up(stopping=True, begun=True))) == 1, "an answer that was begun stays as it is"
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(_given_up(stopping=False, begun=False))
