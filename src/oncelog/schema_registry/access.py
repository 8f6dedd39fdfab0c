"""Controls access to the registry: without a login everyone may use it; with a login only users of the cluster may.

Called by the routes. With a login, a request's name and password are verified by connecting to the cluster with them,
and the cluster's ACLs for the topic decide: READ permits queries, WRITE permits changes. Both results are cached for a
minute.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
from enum import Enum
from typing import TYPE_CHECKING

from oncelog.client.aio.admin.admin import Admin
from oncelog.client.aio.connection.cluster_access import check
from oncelog.client.core.client_errors import KafkaConnectionError, KafkaTimeoutError
from oncelog.client.core.connection.wire import Api
from oncelog.errors import Error, KafkaError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.metadata_request import MetadataRequest, MetadataRequestTopic
from oncelog.runtime import real_asyncio as asyncio
from oncelog.runtime import real_time
from oncelog.schema_registry import rest_errors
from oncelog.schema_registry.rest_errors import Refused
from oncelog.schema_registry.settings import Login, RegistrySettings

if TYPE_CHECKING:
    from starlette.requests import Request

REMEMBERED_SECONDS = 60.0
MAX_REMEMBERED = 1000
_METADATA = Api(ApiKey.METADATA, 8, 12)
_NO_ANSWER = -(2**31)


class RequiredOperation(Enum):
    """The right that a request needs; the values are Kafka's operations."""

    READ = 3
    WRITE = 4


class AccessControl:
    """Decides whether a request is permitted."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._known: dict[bytes, tuple[float, int]] = {}
        """By the hash of a user's credentials: when the entry expires, and the permitted operations as bits."""
        self._asking = asyncio.Lock()

    async def enter(self, request: Request) -> int | None:
        """The operations that the user is permitted; None if everyone may do everything.

        :raises Refused: the credentials are missing or wrong; or there is no login, and the ``Host`` header names
            another site.
        """
        if self._settings.login is Login.NONE:
            _check_host(request.headers.get("host", ""))
            return None
        user, password = _credentials(request.headers.get("authorization", ""))
        key = hashlib.sha256(f"{len(user)}:{user}{password}".encode()).digest()
        async with self._asking:
            known = self._known.get(key)
            if known is None or known[0] < real_time.monotonic():
                operations = await self._operations(user, password)
                if len(self._known) >= MAX_REMEMBERED:
                    self._known.clear()
                self._known[key] = known = (real_time.monotonic() + REMEMBERED_SECONDS, operations)
        return known[1]

    async def check(self, operations: int | None, right: RequiredOperation) -> None:
        """Check that the user is permitted the operation.

        :raises Refused: the user lacks the right.
        """
        if operations is not None and not operations & (1 << right.value):
            name = right.name
            raise Refused(403, 40301, f"User is denied operation {name} on the topic {self._settings.topic}")

    async def _operations(self, user: str, password: str) -> int:
        wanted = MetadataRequest(
            topics=[MetadataRequestTopic(name=self._settings.topic)],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        )
        try:
            async with Admin(config=self._settings.user_config(user, password)) as admin:
                answer = await admin.cluster.ask_any(_METADATA, wanted)
        except (KafkaConnectionError, KafkaTimeoutError) as error:
            raise rest_errors.store_failed(str(error)) from error
        except KafkaError as error:
            if error.error is Error.SASL_AUTHENTICATION_FAILED:
                raise Refused(401, 40101, "the user does not exist, or the password is wrong") from None
            raise
        (topic,) = answer.topics
        if topic.error_code == Error.TOPIC_AUTHORIZATION_FAILED:
            return 0
        if topic.error_code != Error.UNKNOWN_TOPIC_OR_PARTITION:
            check(topic.error_code, f"the rights on {self._settings.topic}")
        found = int(topic.topic_authorized_operations)
        return found if found != _NO_ANSWER else 0


def _credentials(header: str) -> tuple[str, str]:
    kind, _, coded = header.partition(" ")
    try:
        user, colon, password = base64.b64decode(coded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        colon = ""
    if kind.lower() != "basic" or not colon or not user:
        raise Refused(401, 40101, "this registry requires basic authentication as a user of the cluster")
    return user, password


def _check_host(host: str) -> None:
    """Guards against DNS rebinding: a page of another site may resolve its own name to this machine's address, and then
    read the registry.
    """
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if not name or name.lower() in ("localhost", "host.docker.internal"):
        return
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        raise Refused(
            421, 42100, f"this registry has no login, so it answers under an address or localhost only, not {name!r}"
        ) from None
