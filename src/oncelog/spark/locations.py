"""Folders named in Spark options: on this machine, on a shared disk, or in an object store.

Called for checkpoints and for ``spoolDirectory``. Locations are spelt as in Hadoop (``s3a:``) and reached through
``pyarrow.fs`` with the credentials in the process's environment.
"""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING

from oncelog.errors import ConfigError, StorageError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""Schemes that Hadoop and pyarrow spell differently."""
_KNOWN = ("file", "s3", "s3a", "s3n", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss")
_ADVICE = "use a file system that it knows (file:, hdfs:, s3a:, gs:, abfss:)"


def check_scheme(location: str, thing: str) -> None:
    """Raises ConfigError for a location with an unknown file system; connects to nothing."""
    scheme, separator, _ = location.partition(":")
    if separator and "/" not in scheme and scheme not in _KNOWN:
        raise ConfigError(f"{thing} {location} cannot be reached through pyarrow.fs: {_ADVICE}")


@functools.lru_cache(maxsize=128)
def file_system(location: str, thing: str) -> tuple[FileSystem, str]:
    """The file system of a location, and the path in it without a trailing slash.

    :param thing: what the location is, for the StorageError raised if its scheme is unknown.
    """
    from pyarrow.fs import FileSystem, LocalFileSystem

    scheme, separator, rest = location.partition(":")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return LocalFileSystem(), os.path.abspath(location).rstrip("/")
    if scheme == "file":  # Hadoop does not percent-decode the rest
        return LocalFileSystem(), re.sub(r"^//[^/]*(?=/)", "", rest).rstrip("/")
    try:
        found, path = FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}:{rest}")
    except (OSError, ValueError) as error:  # pyarrow raises both
        raise StorageError(
            f"{thing} {location} cannot be reached through pyarrow.fs ({error}): {_ADVICE}, "
            "and set its credentials in the environment"
        ) from error
    return found, path.rstrip("/")
