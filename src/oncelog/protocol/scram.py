"""SCRAM credentials of users (RFC 5802, KIP-554).

Called by the metadata store, the two APIs for credentials, and listeners' logins. Neither a password nor its equivalent
on the wire is ever stored: of the salted password that a client sends, only the two keys derived from it are kept.
"""

from __future__ import annotations

from typing import Final, NamedTuple

HASH_OF_MECHANISM: Final = {1: "sha256", 2: "sha512"}
"""The hash of each mechanism, by Kafka's number: SCRAM-SHA-256 and SCRAM-SHA-512."""
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
"""The maximum number of iterations, as in Kafka's ``ScramControlManager.MAX_ITERATIONS``."""


class ScramCredential(NamedTuple):
    """The data with which a server checks a user's proof. ``stored_key`` is H(ClientKey) of RFC 5802."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


def credential(mechanism: int, iterations: int, salt: bytes, salted_password: bytes) -> ScramCredential:
    """The credential derived from a salted password."""
    import hashlib  # imported here, because every broker imports this module, and most have no users
    import hmac

    name = HASH_OF_MECHANISM[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", name)
    server_key = hmac.digest(salted_password, b"Server Key", name)
    return ScramCredential(iterations, salt, hashlib.new(name, client_key).digest(), server_key)
