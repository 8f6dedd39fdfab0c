"""Client quotas in force: how long a client that has exceeded its share must wait (KIP-13, KIP-124, KIP-55).

Created by the broker only if there is a quota for users or client ids; otherwise a request costs one comparison. Each
quota is a bucket (``broker.core.limits.buckets``): unused capacity is kept for the window (``quota.window.num`` times
``quota.window.size.seconds``) and no longer. The long-term rate is Apache Kafka's; Kafka's samples end a window
abruptly, while a bucket refills continuously.

Which quota applies follows Kafka's ``ClientQuotaManager``: user and client id, user with any client id, user alone,
then the same for the default user, then the client id alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from oncelog.broker.core.limits.buckets import LONGEST_NAME, Buckets
from oncelog.broker.core.requests.context import RequestContext
from oncelog.broker.metadata.store import QuotaEntity
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.messages import response_type
from oncelog.settings.config import BrokerConfig

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
_USER, _CLIENT = "user", "client-id"
_Owner = tuple[str, str | None, str | None]


class Throttle:
    """Counts clients' usage against their quotas.

    :param quotas: the quotas of all entities.
    :param window_part_ms: the longest wait in ms for ``request_percentage``.
    :param window_parts: for how many windows of ``window_part_ms`` a client may keep unused capacity.
    """

    def __init__(
        self, quotas: Mapping[QuotaEntity, Mapping[str, float]], window_part_ms: int, window_parts: int = 11
    ) -> None:
        self.update(quotas)
        self._window_part_ms = window_part_ms
        self._window_ms = window_part_ms * window_parts
        self.buckets = Buckets[_Owner]()
        self._waits_ms: WeakKeyDictionary[RequestContext, int] = WeakKeyDictionary()
        """Waits in ms of requests that have exceeded ``controller_mutation_rate``, until they are answered."""

    @classmethod
    def by(cls, config: BrokerConfig) -> Throttle:
        """Create a throttle with the window of the broker's settings, and without quotas."""
        part_ms = 1000 * int(config.text("quota.window.size.seconds") or 1)
        return cls({}, part_ms, int(config.text("quota.window.num") or 11))

    @property
    def is_needed(self) -> bool:
        return bool(self._by_entity)

    def clock_was_set(self, step_ms: int) -> None:
        self.buckets.clock_was_set(step_ms)

    def update(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Replace the quotas; earlier usage still counts."""
        self._by_entity = {entity: values for entity, values in quotas.items() if "ip" not in dict(entity)}

    def count(self, context: RequestContext, request_bytes: int, response_bytes: int, now_ms: int) -> int:
        """Count a request against the caller's quotas; returns how many ms the caller must wait from now on."""
        caller = context.principal, context.client_id
        wait_ms = self.use(REQUEST_PERCENTAGE, *caller, context.work_ns / 1e7, now_ms)
        wait_ms = max(min(wait_ms, self._window_part_ms), self._waits_ms.get(context, 0))
        if context.api_key == ApiKey.PRODUCE:
            wait_ms = max(wait_ms, self.use(PRODUCER_BYTE_RATE, *caller, request_bytes, now_ms))
        elif context.api_key == ApiKey.FETCH:
            wait_ms = max(wait_ms, self.use(CONSUMER_BYTE_RATE, *caller, response_bytes, now_ms))
        if wait_ms:
            context.channel.throttle(wait_ms)
        return wait_ms if "throttle_time_ms" in response_type(context.api_key).__slots__ else 0

    def must_wait(self, context: RequestContext, wait_ms: int) -> None:
        """Let the client wait at least this long once its request is answered."""
        self._waits_ms[context] = max(wait_ms, self._waits_ms.get(context, 0))

    def use(self, key: str, principal: str, client_id: str, amount: float, now_ms: int) -> int:
        """Count ``amount`` (bytes, or seconds of work times 100); returns for how many ms the client must wait."""
        user = principal.partition(":")[2]
        found = self._quota(key, user, client_id)
        if found is None:
            return 0
        limit, bucket = found
        return self.buckets.use(bucket, amount, limit, self._window_ms, now_ms)

    def take(self, key: str, principal: str, client_id: str, amount: float, now_ms: int) -> int:
        """Count ``amount`` if the client need not wait; otherwise count nothing and return how many ms the client must
        wait (Kafka's strict quota)."""
        found = self._quota(key, principal.partition(":")[2], client_id)
        if found is None:
            return 0
        wait_ms = self.buckets.wait_ms(found[1], now_ms)
        if wait_ms:
            return wait_ms
        self.use(key, principal, client_id, amount, now_ms)
        return 0

    def _quota(self, key: str, user: str, client_id: str) -> tuple[float, _Owner] | None:
        """The limit that applies to a client, and the owner of the bucket in which the usage counts; None without a
        limit."""
        for entity, owner in (
            (((_CLIENT, client_id), (_USER, user)), (user, client_id)),
            (((_CLIENT, None), (_USER, user)), (user, client_id)),
            (((_USER, user),), (user, None)),
            (((_CLIENT, client_id), (_USER, None)), (user, client_id)),
            (((_CLIENT, None), (_USER, None)), (user, client_id)),
            (((_USER, None),), (user, None)),
            (((_CLIENT, client_id),), (None, client_id)),
            (((_CLIENT, None),), (None, client_id)),
        ):
            limit = self._by_entity.get(entity, {}).get(key)
            if limit is not None:
                return limit, (key, owner[0], owner[1] and owner[1][:LONGEST_NAME])
        return None
