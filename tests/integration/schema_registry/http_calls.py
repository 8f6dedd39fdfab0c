"""Requests to a registry, without a client of anybody's."""

from __future__ import annotations

import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class Answer(NamedTuple):
    status: int
    body: Any
    content_type: str

    @property
    def code(self) -> int:
        return int(self.body["error_code"])


def call(
    url: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    raw: bytes | None = None,
    content_type: str | None = CONTENT_TYPE,
    headers: dict[str, str] | None = None,
) -> Answer:
    """What the registry answers; a body that is no JSON stays a text."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120)
    sent = raw if raw is not None else None if body is None else json.dumps(body).encode()
    own = {"Content-Type": content_type} if content_type is not None and sent is not None else {}
    try:
        connection.request(method, path, sent, {**own, **(headers or {})})
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    try:
        answered = json.loads(text)
    except ValueError:
        answered = text
    return Answer(response.status, answered, response.headers["content-type"])


def avro(*fields: str, name: str = "R") -> str:
    """A record whose fields are ints; one with ``=`` has that default."""
    listed = []
    for field in fields:
        named, equals, default = field.partition("=")
        listed.append({"name": named, "type": "int"} | ({"default": int(default)} if equals else {}))
    return json.dumps({"type": "record", "name": name, "fields": listed})


def register(url: str, subject: str, schema: str, **more: Any) -> Answer:
    return call(url, "POST", f"/subjects/{quote(subject, safe='')}/versions", {"schema": schema, **more})
