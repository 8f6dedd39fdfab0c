"""Explains failed handshakes in words, and recognizes TLS in a broker's first bytes.

Called by the connections.
"""

from __future__ import annotations

import ssl


def refusal(error: OSError, protocol: str) -> str:
    """Why the connection failed, in one sentence; ``protocol`` is security.protocol."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate was not accepted: {error.verify_message}; set ssl.cafile to the authority that signed it"
        )
    if not protocol.endswith("SSL"):
        return str(error)
    if isinstance(error, (ssl.SSLError, ConnectionResetError, ConnectionAbortedError)):
        return (
            f"the TLS handshake failed ({str(error) or 'the connection was closed'}); if this is a plaintext listener, "
            f"set security.protocol to {protocol.replace('SSL', 'PLAINTEXT')}"
        )
    return str(error)


def looks_like_tls(data: bytes | bytearray | memoryview) -> bool:
    """Whether the first bytes from a broker are a TLS record (an alert or a handshake) and not a Kafka frame."""
    return len(data) >= 2 and data[0] in (0x15, 0x16) and data[1] == 3


def silence(greeted: bool, what: str, timeout_ms: int) -> str:
    """The reason for closing a connection whose peer does not answer, as the end of a sentence that begins with the
    address.

    :param greeted: whether the peer has answered ApiVersions.
    """
    limit = f"within request.timeout.ms={timeout_ms}"
    if greeted:
        return f"did not {what} {limit}"
    return (
        f"accepts connections but does not answer as a Kafka broker {limit}; is it one, and is it the right listener?"
    )


__all__ = ["looks_like_tls", "refusal", "silence"]
