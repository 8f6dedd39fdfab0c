"""``aiokafka.abc``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from oncelog.client.core.consumer.subscription import ConsumerRebalanceListener


class AbstractTokenProvider(ABC):
    """Supplies a token for the OAUTHBEARER mechanism whenever the client needs one."""

    @abstractmethod
    async def token(self) -> str:
        """A token that is valid now."""

    def extensions(self) -> Mapping[str, str]:
        """Key-value pairs sent with the token (KIP-342)."""
        return {}


__all__ = ["AbstractTokenProvider", "ConsumerRebalanceListener"]
