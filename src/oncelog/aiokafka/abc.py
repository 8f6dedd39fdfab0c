"""``aiokafka.abc``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from oncelog.client.core.subscription import ConsumerRebalanceListener


class AbstractTokenProvider(ABC):
    """Gives the client a token for the mechanism OAUTHBEARER whenever it needs one."""

    @abstractmethod
    async def token(self) -> str:
        """A token that is valid now."""

    def extensions(self) -> Mapping[str, str]:
        """Pairs that travel beside the token (KIP-342)."""
        return {}


__all__ = ["AbstractTokenProvider", "ConsumerRebalanceListener"]
