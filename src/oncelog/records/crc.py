"""CRC-32C (Castagnoli), the checksum of record batches. Called by :mod:`oncelog.records.batch` and by the log's
files.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

Buffer = bytes | bytearray | memoryview


def _function() -> Any:
    """The function ``crc32c.crc32c``, taken from the package's compiled module alone if that module can be found.

    Importing the package would also import its command line and metadata, a tenth of a broker's start time.
    """
    package = find_spec("crc32c")
    spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        from crc32c import crc32c

        return crc32c
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.crc32c


compiled_crc32c = _function()
"""The function behind :func:`crc32c`, which the compiled codec calls directly to save a stack frame."""


def crc32c(data: Buffer, value: int = 0) -> int:
    """The CRC-32C of ``data``. ``value`` is the checksum of the bytes before it, if there are any."""
    checksum: int = compiled_crc32c(data, value)
    return checksum
