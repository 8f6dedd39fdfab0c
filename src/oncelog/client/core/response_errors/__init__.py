"""An exception for each error code that brokers send, under aiokafka's names.

Raised through ``client.core.client_errors.error_for``; exceptions with a special meaning to a client are defined there.
"""

from oncelog.client.core.response_errors.base import *  # noqa: F403
from oncelog.client.core.response_errors.coordinator import *  # noqa: F403
from oncelog.client.core.response_errors.log import *  # noqa: F403
from oncelog.client.core.response_errors.security import *  # noqa: F403
