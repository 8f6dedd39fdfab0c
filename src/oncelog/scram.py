"""SCRAM credentials of users (RFC 5802, KIP-554): kept and described; no listener asks for them yet.

Called by the metadata store and the two APIs of credentials. A password is never kept, nor what stands for it on the
wire: of the salted password that a client sends only the two keys derived from it remain.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, NamedTuple

HASH_OF_MECHANISM: Final = {1: "sha256", 2: "sha512"}
"""Kafka's number of a mechanism to its hash: SCRAM-SHA-256 and SCRAM-SHA-512."""
LEAST_ITERATIONS: Final = 4096
MOST_ITERATIONS: Final = 16384
"""Kafka's ``ScramMechanism`` and ``ScramControlManager.MAX_ITERATIONS``."""


class ScramCredential(NamedTuple):
    """What a server needs to check a user's proof. ``stored_key`` is H(ClientKey) of RFC 5802."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


def credential(mechanism: int, iterations: int, salt: bytes, salted_password: bytes) -> ScramCredential:
    """The credential that a salted password makes."""
    name = HASH_OF_MECHANISM[mechanism]
    client_key = hmac.digest(salted_password, b"Client Key", name)
    server_key = hmac.digest(salted_password, b"Server Key", name)
    return ScramCredential(iterations, salt, hashlib.new(name, client_key).digest(), server_key)
