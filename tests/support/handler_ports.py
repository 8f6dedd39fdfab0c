"""What a handler of an API needs in a unit test: its ports without a broker, and a way to ask it.

A test adds the ports of its kind of API (``broker/core/apis/ports.py``) as attributes or in a subclass.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from oncelog.broker.core.limits.answer_memory import AnswerMemory
from oncelog.broker.core.limits.long_requests import LongRequests
from oncelog.broker.core.limits.request_memory import RequestMemory
from oncelog.broker.core.registry import handler_for
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.core.requests.session import Session
from oncelog.broker.core.requests.tasks import Tasks
from oncelog.broker.core.security.security_log import SecurityLog
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import read_type
from oncelog.protocol.wire import Message
from oncelog.runtime.deferred import Deferred
from oncelog.runtime.timers import Timers


class HandlerPorts:
    """The ports that all kinds have in common. Everybody may do everything."""

    def __init__(self, now_ms: int, **ports: object) -> None:
        self._now_ms = now_ms
        self.tasks = Tasks()
        memory = RequestMemory(0, 0)
        self.answer_memory, self.long_requests = AnswerMemory(memory), LongRequests(memory)
        self.authorizer = None
        self.security_log = SecurityLog(Timers())
        self.throttle = None
        self.cluster = None
        self.closed: list[str] = []
        """Why connections were closed."""
        for name, port in ports.items():
            setattr(self, name, port)

    @property
    def now_ms(self) -> int:
        return self._now_ms

    def begin(self, request: Message, version: int) -> Any:
        """What the handler returns at once: an answer, or a Deferred of one. The request is encoded and decoded."""
        key = ApiKey(request.API_KEY)
        channel: Any = SimpleNamespace(
            client_host="127.0.0.1", connection_id=1, session=Session(), close=self.closed.append
        )
        context = RequestContext(channel, 0, key, version, 1, "c", self.now_ms)
        ports: Any = self
        received, _ = read_type(key).decode_prefix(request.encode(version), version)
        return handler_for(key)(ports, context, received)

    def ask(self, request: Message, version: int) -> Any:
        """The answer; both are encoded and decoded in that version."""
        result = self.begin(request, version)
        self.tasks.finish()
        answer: Any = result.value if isinstance(result, Deferred) else result
        return type(answer).decode(answer.encode(version), version)
