"""TLS for listeners: contexts from Kafka's ``ssl.*`` properties with PEM files, renewed while the broker runs.

Called by the listeners. Certificates and keys come from files (``ssl.keystore.location``, ``ssl.truststore.location``)
or from the properties themselves. Changed files are read again for the next connection, checked at most once per
second; if the new files cannot be used, the old context stays in force and the error is logged. Python's ``ssl``
requires files, so keys in properties are written to a file that only this user can read and that is removed at once.
"""

from __future__ import annotations

import logging
import os
import re
import ssl
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from oncelog.errors import ConfigError

logger = logging.getLogger(__name__)

RENEWAL_CHECK_S = 1.0
_FileStates = tuple[tuple[int, int, int] | None, ...]
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_GIVEN_UP = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})
"""Names that Java accepts next to other versions without using them; older properties files have them."""
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_REFUSALS = {
    "UNSUPPORTED_PROTOCOL": "the client supports none of the versions in ssl.enabled.protocols",
    "NO_SHARED_CIPHER": "the client supports none of this listener's cipher suites",
    "WRONG_VERSION_NUMBER": "the client does not use TLS: set its security.protocol to SSL or SASL_SSL",
    "HTTP_REQUEST": "the client sent an HTTP request",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "ssl.client.auth=required, and the client presented no certificate",
    "CERTIFICATE_VERIFY_FAILED": "the client's certificate is not signed by one in the truststore, or is not valid now",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust the signer of this listener's certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client does not accept this listener's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client does not accept this listener's certificate",
}
"""Explanations for some of OpenSSL's error reasons."""
CHUNK_BYTES = 256 * 1024
"""The maximum number of plain bytes encrypted at once, which limits the memory for a slow reader."""


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The ``ssl.*`` properties of one listener; ``repr`` contains no secrets."""

    listener: str
    properties: Mapping[str, str]

    def __repr__(self) -> str:
        return f"TlsSettings({self.listener!r})"

    def get(self, name: str) -> str:
        return self.properties.get(name, "")

    def files(self) -> tuple[str, ...]:
        """The files from which a context is built."""
        return tuple(filter(None, (self.get(f"ssl.{store}.location") for store in ("keystore", "truststore"))))


def refusal(error: ssl.SSLError) -> str:
    """The reason why a connection failed: OpenSSL's name, with an explanation if there is one."""
    reason = error.reason or "a TLS error"
    return f"{_REFUSALS[reason]} ({reason})" if reason in _REFUSALS else reason


def new_context(settings: TlsSettings) -> ssl.SSLContext:
    """A server's TLS context.

    :raises ConfigError: a store is not PEM, is missing or unreadable, or its parts do not match.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    _set_versions(context, settings)
    _load_key(context, settings)
    _load_trust(context, settings)
    context.verify_mode = _CLIENT_AUTH[settings.get("ssl.client.auth") or "none"]
    return context


def _set_versions(context: ssl.SSLContext, settings: TlsSettings) -> None:
    names = [name.strip() for name in (settings.get("ssl.enabled.protocols") or "TLSv1.2,TLSv1.3").split(",")]
    unknown = [name for name in names if name not in _VERSIONS and name not in _GIVEN_UP]
    if unknown or _GIVEN_UP.issuperset(names):
        raise ConfigError(
            f"ssl.enabled.protocols of listener {settings.listener} names {(unknown or names)[0]!r}; set TLSv1.2, "
            f"TLSv1.3 or both"
        )
    versions = sorted(_VERSIONS[name] for name in names if name in _VERSIONS)
    suites = [name.strip() for name in settings.get("ssl.cipher.suites").split(",") if name.strip()]
    older = [name for name in suites if "_WITH_" in name]
    if suites and not any(name.startswith("TLS_") and "_WITH_" not in name for name in suites):
        versions = [version for version in versions if version is not ssl.TLSVersion.TLSv1_3]
    if suites and not older:
        versions = [version for version in versions if version is ssl.TLSVersion.TLSv1_3]
    if not versions:
        raise ConfigError(
            f"ssl.cipher.suites of listener {settings.listener} match no version in ssl.enabled.protocols"
        )
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    if older:
        try:
            context.set_ciphers(":".join(_openssl_name(name) for name in older))
        except ssl.SSLError:
            raise ConfigError(
                f"ssl.cipher.suites of listener {settings.listener} has none that OpenSSL supports: {', '.join(older)}"
            ) from None


def _openssl_name(suite: str) -> str:
    """OpenSSL's name of a cipher suite whose standard name has the form ``TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384``."""
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = re.sub(r"AES_(128|256)", r"AES\1", cipher).replace("_CBC", "")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305")
    parts = [cipher] if exchange == "RSA" else [exchange, cipher]
    return "-".join(parts).replace("_", "-")


def _load_key(context: ssl.SSLContext, settings: TlsSettings) -> None:
    listener, location = settings.listener, settings.get("ssl.keystore.location")
    inline_key, chain = settings.get("ssl.keystore.key"), settings.get("ssl.keystore.certificate.chain")
    if not location and not (inline_key and chain):
        raise ConfigError(
            f"listener {listener} encrypts and needs a key and a certificate: set ssl.keystore.location to a PEM file "
            f"(with ssl.keystore.type=PEM), or ssl.keystore.key and ssl.keystore.certificate.chain"
        )
    _check_type(settings, "keystore")
    password = settings.get("ssl.key.password")
    with ExitStack() as files:
        path = location or _private_file(files, f"{inline_key}\n{chain}\n")
        try:
            context.load_cert_chain(path, password=lambda: password)
        except OSError as error:
            name = location or "ssl.keystore.key"
            raise ConfigError(
                f"the key and certificate of listener {listener} ({name}) cannot be used: {_reason(error)}"
            ) from None


def _load_trust(context: ssl.SSLContext, settings: TlsSettings) -> None:
    location, inline = settings.get("ssl.truststore.location"), settings.get("ssl.truststore.certificates")
    if location or inline:
        _check_type(settings, "truststore")
        try:
            context.load_verify_locations(cafile=location or None, cadata=None if location else inline)
        except (OSError, ValueError) as error:
            name = location or "ssl.truststore.certificates"
            raise ConfigError(
                f"the trusted certificates of listener {settings.listener} ({name}) cannot be used: {_reason(error)}"
            ) from None
    elif settings.get("ssl.client.auth") in ("requested", "required"):
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)


def _check_type(settings: TlsSettings, store: str) -> None:
    kind = settings.get(f"ssl.{store}.type") or "JKS"
    if kind.upper() != "PEM":
        raise ConfigError(
            f"ssl.{store}.type of listener {settings.listener} is {kind}; this broker reads PEM: convert the store "
            f"with keytool -importkeystore and openssl pkcs12, and set ssl.{store}.type=PEM"
        )


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "it contains no PEM, or ssl.key.password is wrong"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "it contains no PEM certificate"


def _private_file(files: ExitStack, text: str) -> str:
    file = tempfile.NamedTemporaryFile("w", suffix=".pem")  # noqa: SIM115 - closed with ``files``
    files.enter_context(file)
    file.write(text)
    file.flush()
    return file.name


class TlsContexts:
    """A listener's TLS context, rebuilt when its settings or files have changed.

    :param settings: returns the settings in force.
    :param clock: returns monotonic seconds.
    """

    def __init__(self, settings: Callable[[], TlsSettings], clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._made_from = settings()
        self._states = _file_states(self._made_from)
        self._refused: tuple[TlsSettings, _FileStates] | None = None
        """Settings and file states that could not be used, which has already been logged."""
        self._context = new_context(self._made_from)
        self._next_check = clock() + RENEWAL_CHECK_S

    def check(self, settings: TlsSettings) -> None:
        """Check new settings. :raises ConfigError: no context can be built from ``settings``, which differ from those
        in force."""
        if settings != self._made_from:
            new_context(settings)

    def current(self) -> ssl.SSLContext:
        if self._clock() >= self._next_check:
            self._next_check = self._clock() + RENEWAL_CHECK_S
            self._renew()
        return self._context

    def _renew(self) -> None:
        settings = self._settings()
        states = _file_states(settings)
        if settings == self._made_from and states == self._states:
            return
        try:
            self._context = new_context(settings)
        except ConfigError as error:  # the renewal is tried again later: perhaps no file descriptor was free
            if (settings, states) != self._refused:
                self._refused = settings, states
                logger.error("listener %s keeps its certificates: %s", settings.listener, error)
        else:
            self._made_from, self._states, self._refused = settings, states, None
            logger.warning("listener %s uses new certificates", settings.listener)


def _file_states(settings: TlsSettings) -> _FileStates:
    """Values that change when one of the files changes."""
    states: list[tuple[int, int, int] | None] = []
    for path in settings.files():
        try:
            found = os.stat(Path(path))
        except OSError:
            states.append(None)
        else:
            states.append((found.st_ino, found.st_size, found.st_mtime_ns))
    return tuple(states)


class TlsStream:
    """The TLS state of one connection: converts between the socket's bytes and the plain bytes; does no I/O."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.established = False

    def feed(self, data: memoryview) -> None:
        """Pass in bytes that were received from the socket."""
        self._incoming.write(data)

    def handshake(self) -> bool:
        """Continue the handshake; returns True once it is done. Raises ``ssl.SSLError`` if it fails."""
        if not self.established:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                return False
            self.established = True
        return True

    def read_into(self, buffer: memoryview) -> int:
        """Decrypt into ``buffer``; returns the number of bytes, 0 if more input is needed, -1 if the peer has ended the
        stream."""
        try:
            count: int = self._tls.read(len(buffer), buffer)  # type: ignore[assignment]  # typeshed: bytes
            return count or -1
        except ssl.SSLWantReadError:
            return 0
        except ssl.SSLZeroReturnError:
            return -1

    def encrypt(self, data: bytes | bytearray | memoryview) -> None:
        self._tls.write(data)

    def end(self) -> None:
        """End the stream: produce TLS's closing message for the peer."""
        try:
            self._tls.unwrap()
        except ssl.SSLError:
            return

    @property
    def outgoing_bytes(self) -> int:
        """The number of encrypted bytes that wait for :meth:`take_outgoing`."""
        return self._outgoing.pending

    def take_outgoing(self) -> bytes:
        """The encrypted bytes that are to be sent to the socket."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def peer_certificate(self) -> bytes | None:
        """The client's certificate in DER; None if the client has presented no valid one."""
        return self._tls.getpeercert(binary_form=True)
