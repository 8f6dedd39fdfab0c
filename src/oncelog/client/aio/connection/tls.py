"""The TLS context of a client: certificates and keys from PEM, PKCS #12 and Java key stores.

Called by :class:`~oncelog.client.aio.connection.network.Network`. PKCS #12 needs the package ``cryptography`` and JKS
the package ``pyjks`` (``pip install 'oncelog[keystores]'``). A private key that is not in a PEM file of the user's is
passed to OpenSSL through memory if the system allows, else through a file that only this user can read and that is
removed at once.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from oncelog.client.core.security import SecurityConfig
from oncelog.errors import ConfigError

_ADVICE = "pip install 'oncelog[keystores]', or convert it to PEM and set the type to PEM"


class Identity(NamedTuple):
    """The client's key and certificates as one PEM text, and the password of an encrypted key."""

    pem: str
    password: str | None


def ssl_context(config: SecurityConfig) -> ssl.SSLContext:
    """The TLS context for these settings.

    Certificate chains are accepted as Java accepts them, with any Python: without the extensions that many private
    authorities leave out and Python 3.13 requires (``VERIFY_X509_STRICT``), and up to any trusted certificate, even if
    it is not a root.

    :raises ConfigError: a setting cannot be used; the text names it.
    """
    context = _trusting(config)
    context.verify_flags = (context.verify_flags & ~ssl.VERIFY_X509_STRICT) | ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = config.checks_hostname
    versions = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
    chosen = [versions[name] for name in config.ssl_enabled_protocols]
    context.minimum_version, context.maximum_version = min(chosen), max(chosen)
    if config.ssl_certfile is not None:
        try:
            context.load_cert_chain(config.ssl_certfile, config.ssl_keyfile, _no_prompt(config.ssl_key_password))
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"ssl.certfile={config.ssl_certfile} with ssl.keyfile={config.ssl_keyfile} cannot be used: {error}"
            ) from error
    identity = _identity(config)
    if identity is not None:
        where = config.ssl_keystore_location or "the text of ssl.keystore.key"
        with _readable(identity.pem) as path:
            try:
                context.load_cert_chain(path, password=_no_prompt(identity.password))
            except (OSError, ssl.SSLError) as error:
                raise ConfigError(
                    f"The client's key in {where} cannot be used ({error}): check it and ssl.key.password"
                ) from error
    return context


def _no_prompt(password: str | None) -> str:
    """Refuse a key that needs a password, because OpenSSL would ask for the password at the terminal."""
    return password or ""


def _trusting(config: SecurityConfig) -> ssl.SSLContext:
    location = config.ssl_truststore_location
    where = location or config.ssl_cafile or "ssl.truststore.certificates"
    try:
        if config.ssl_truststore_certificates is not None:
            return ssl.create_default_context(cadata=_lines(config.ssl_truststore_certificates))
        if location is None or config.ssl_truststore_type == "PEM":
            return ssl.create_default_context(cafile=location or config.ssl_cafile)
        certificates = _trusted_certificates(Path(location), config)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"The certificates to trust in {where} cannot be read: {error}") from error
    if not certificates:
        raise ConfigError(f"ssl.truststore.location={location} holds no certificate to trust")
    return ssl.create_default_context(cadata="\n".join(certificates))


def _trusted_certificates(path: Path, config: SecurityConfig) -> list[str]:
    password = config.ssl_truststore_password
    if config.ssl_truststore_type == "PKCS12":
        # called before the import below: its error names the extra to install
        store = _pkcs12(path, "ssl.truststore", password)

        from cryptography.hazmat.primitives.serialization import Encoding

        found = [store.cert, *store.additional_certs]
        return [item.certificate.public_bytes(Encoding.PEM).decode() for item in found if item is not None]
    store = _java_store(path, "ssl.truststore", password)
    chains = [key.cert_chain[0][1] for key in store.private_keys.values() if key.cert_chain]
    return [_certificate(der) for der in [*(item.cert for item in store.certs.values()), *chains]]


def _identity(config: SecurityConfig) -> Identity | None:
    if config.ssl_keystore_key is not None:
        texts = config.ssl_keystore_key, config.ssl_keystore_certificate_chain or ""
        return Identity("\n".join(_lines(text) for text in texts), config.ssl_key_password)
    if config.ssl_keystore_location is None:
        return None
    path = Path(config.ssl_keystore_location)
    try:
        match config.ssl_keystore_type:
            case "PEM":
                return Identity(path.read_text(encoding="ascii"), config.ssl_key_password)
            case "PKCS12":
                return _identity_of_pkcs12(path, config)
            case _:
                return _identity_of_java_store(path, config)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"ssl.keystore.location={path} cannot be read: {error}") from error


def _identity_of_pkcs12(path: Path, config: SecurityConfig) -> Identity:
    store = _pkcs12(path, "ssl.keystore", config.ssl_keystore_password)

    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    if store.key is None or store.cert is None:
        raise ConfigError(f"ssl.keystore.location={path} holds no private key with its certificate")
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    chain = [item.certificate.public_bytes(Encoding.PEM) for item in (store.cert, *store.additional_certs)]
    return Identity(b"".join([key, *chain]).decode(), None)


def _identity_of_java_store(path: Path, config: SecurityConfig) -> Identity:
    store = _java_store(path, "ssl.keystore", config.ssl_keystore_password)

    import jks

    if not store.private_keys:
        raise ConfigError(f"ssl.keystore.location={path} holds no private key")
    key = store.private_keys[min(store.private_keys)]
    try:
        if not key.is_decrypted():
            key.decrypt(config.ssl_key_password or config.ssl_keystore_password or "")
    except jks.util.KeystoreException as error:
        raise ConfigError(f"The key in ssl.keystore.location={path} does not open with ssl.key.password") from error
    return Identity(
        _pem("PRIVATE KEY", b64encode(key.pkey_pkcs8).decode())
        + "".join(_certificate(der) for _, der in key.cert_chain),
        None,
    )


def _pkcs12(path: Path, store: str, password: str | None):  # type: ignore[no-untyped-def]  # of an optional package
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError as error:
        raise ConfigError(f"{store}.location={path} is PKCS12, which needs a package: {_ADVICE}") from error
    try:
        return load_pkcs12(path.read_bytes(), None if password is None else password.encode())
    except ValueError as error:
        raise ConfigError(
            f"{store}.location={path} is not a PKCS12 file, or does not open with {store}.password: {error}"
        ) from error


def _java_store(path: Path, store: str, password: str | None):  # type: ignore[no-untyped-def]  # of an optional package
    """Load a JKS file; Java reads PKCS #12 files under the type JKS too, so a file that begins like PKCS #12 is
    reported.
    """
    data = path.read_bytes()
    if b"-----BEGIN " in data:
        raise ConfigError(f"{store}.location={path} is PEM: set {store}.type to PEM (without it, Kafka expects JKS)")
    try:
        import jks
    except ImportError as error:
        raise ConfigError(f"{store}.location={path} is JKS, which needs a package: {_ADVICE}") from error
    if data[:1] == b"\x30":
        raise ConfigError(
            f"{store}.location={path} is PKCS12, as keytool writes since Java 9: set {store}.type to PKCS12"
        )
    try:
        return jks.KeyStore.loads(data, password or "", try_decrypt_keys=True)
    except jks.util.KeystoreException as error:
        raise ConfigError(
            f"{store}.location={path} is not a JKS file, or does not open with {store}.password"
        ) from error


def _certificate(der: bytes) -> str:
    return _pem("CERTIFICATE", b64encode(der).decode())


def _pem(kind: str, text: str) -> str:
    lines: Sequence[str] = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""])


_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


def _lines(text: str) -> str:
    """Split PEM given as one line, as in a properties file, into lines; Java reads both (KIP-651)."""
    blocks = [(match.group(1), match.group(2).split()) for match in _PEM.finditer(text)]
    if not blocks:
        raise ConfigError("The certificates or the key in the settings are not PEM: -----BEGIN ...----- to -----END")
    return "".join(_pem(kind, "".join(words)) for kind, words in blocks)


@contextmanager
def _readable(text: str) -> Iterator[str]:
    """A path from which OpenSSL can read the text as long as the block lasts."""
    data = text.encode()
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("oncelog-identity")
        try:
            os.write(number, data)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    with tempfile.TemporaryDirectory(prefix="oncelog-") as folder:
        path = Path(folder) / "identity.pem"
        path.touch(mode=0o600)
        path.write_bytes(data)
        yield str(path)
