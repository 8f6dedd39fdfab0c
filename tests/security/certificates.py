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


@dataclass(frozen=True)
class Identity:
    """A key and its certificate: in one file, as Kafka's PEM key store has them, and in two."""

    store: Path
    key: Path
    certificate: Path
    serial: int


class Authority:
    """Signs certificates for ``127.0.0.1`` and ``localhost``."""

    def __init__(self, folder: Path, name: str = "oncelog tests") -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._begin(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
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

    def issue(self, file: str, subject: str | x509.Name = "CN=127.0.0.1", *, password: str | None = None) -> Identity:
        """A new key and certificate, written to ``FILE.pem``, ``FILE.key`` and ``FILE.crt``."""
        name = subject if isinstance(subject, x509.Name) else x509.Name.from_rfc4514_string(subject)
        key = ec.generate_private_key(ec.SECP256R1())
        addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
        certificate = (
            self._begin(name, key.public_key())
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        key_text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
        chain = certificate.public_bytes(serialization.Encoding.PEM)
        paths = [self.folder / f"{file}{suffix}" for suffix in (".pem", ".key", ".crt")]
        for path, text in zip(paths, (key_text + chain, key_text, chain), strict=True):
            path.write_bytes(text)
        return Identity(*paths, certificate.serial_number)
