"""The client's exceptions, in one place to import from; the definitions are in ``client.core``."""

from oncelog.client.core.client_errors import *  # noqa: F403
from oncelog.client.core.response_errors import *  # noqa: F403
