"""A certificate authority for tests: keys and certificates as PEM files, for brokers and clients."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)
_MAY_SIGN = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
"""Certificates and their revocations."""


@dataclass(frozen=True)
class Identity:
    """A key and its certificate: in one file, as Kafka's PEM key store has them, and in two."""

    store: Path
    key: Path
    certificate: Path
    serial: int


class Authority:
    """Signs certificates for ``127.0.0.1`` and ``localhost``.

    :param parent: what signs this one's own certificate, instead of itself.
    :param bare: leave out the authority's key identifier, as many private authorities do.
    """

    def __init__(
        self, folder: Path, name: str = "oncelog tests", *, parent: Authority | None = None, bare: bool = False
    ) -> None:
        self.folder = folder
        self._bare = bare
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = parent or self
        certificate = signer._signed(
            signer._begin(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_MAY_SIGN, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
        )
        self.certificate = folder / "ca.pem"
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def _begin(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + 30 * _DAY)
        )

    def _signed(self, certificate: x509.CertificateBuilder) -> x509.Certificate:
        if not self._bare:
            own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            certificate = certificate.add_extension(own, critical=False)
        return certificate.sign(self._key, hashes.SHA256())

    def issue(
        self,
        file: str,
        subject: str | x509.Name = "CN=127.0.0.1",
        *,
        password: str | None = None,
        host: str = "localhost",
    ) -> Identity:
        """A new key and certificate, written to ``FILE.pem``, ``FILE.key`` and ``FILE.crt``."""
        name = subject if isinstance(subject, x509.Name) else x509.Name.from_rfc4514_string(subject)
        key = ec.generate_private_key(ec.SECP256R1())
        addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName(host)]
        certificate = self._signed(
            self._begin(name, key.public_key()).add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        )
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        key_text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        chain = certificate.public_bytes(serialization.Encoding.PEM)
        store, private, public = (self.folder / f"{file}{suffix}" for suffix in (".pem", ".key", ".crt"))
        for path, text in ((store, key_text + chain), (private, key_text), (public, chain)):
            path.write_bytes(text)
        return Identity(store, private, public, certificate.serial_number)
