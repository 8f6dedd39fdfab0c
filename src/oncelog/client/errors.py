"""The client's exceptions, in one place to import from; the definitions are in ``client.core.errors``."""

from oncelog.client.core.errors import *  # noqa: F403
from oncelog.client.core.errors import __all__ as __all__
