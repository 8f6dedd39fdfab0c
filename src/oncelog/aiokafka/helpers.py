"""``aiokafka.helpers``."""

from __future__ import annotations

import ssl
from os import PathLike

Path = str | bytes | PathLike[str] | PathLike[bytes]


def create_ssl_context(
    *,
    cafile: Path | None = None,
    capath: Path | None = None,
    cadata: str | bytes | None = None,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    password: str | bytes | None = None,
) -> ssl.SSLContext:
    """An SSL context that trusts these authorities or the system's, checks host names, and presents a certificate if
    given.

    :param cadata: the certificates themselves, as PEM text or DER bytes.
    """
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=cafile, capath=capath, cadata=cadata)
    if certfile is not None:
        context.load_cert_chain(certfile, keyfile, password)
    return context


__all__ = ["create_ssl_context"]
