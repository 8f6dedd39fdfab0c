"""CRC-32C (Castagnoli), the checksum of record batches. Called by :mod:`oncelog.records.batch` and by the log's
files.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

Buffer = bytes | bytearray | memoryview


def _function() -> Any:
    """``crc32c.crc32c``, from the package's compiled module alone if that can be found.

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
"""The same as :func:`crc32c` without its stack frame, for the compiled codec."""


def crc32c(data: Buffer, value: int = 0) -> int:
    """Checksum of ``data``, continuing from ``value``, the checksum of what came before."""
    checksum: int = compiled_crc32c(data, value)
    return checksum
