"""All names of asyncio, taken from the modules that define them. They stay while a test replaces asyncio's own names.

``mock.patch("asyncio.Event")`` replaces the name for the whole process: a client or broker that runs beside the test
would wait on a mock for ever, or fail. ``asyncio`` gets its names from the modules below, as this module does, and a
mock leaves them there.

Callers write ``from oncelog.runtime import real_asyncio as asyncio``, and use the names as those of asyncio.
"""

from __future__ import annotations

import sys
from asyncio.base_events import *
from asyncio.coroutines import *
from asyncio.events import *
from asyncio.exceptions import *
from asyncio.futures import *
from asyncio.locks import *
from asyncio.protocols import *
from asyncio.queues import *
from asyncio.runners import *
from asyncio.streams import *
from asyncio.subprocess import *
from asyncio.taskgroups import *
from asyncio.tasks import *
from asyncio.threads import *
from asyncio.timeouts import *
from asyncio.transports import *

if sys.platform == "win32":
    from asyncio.windows_events import *
else:
    from asyncio.unix_events import *

if sys.version_info >= (3, 14):
    from asyncio.graph import *
