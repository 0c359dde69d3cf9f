"""A private certificate authority, and what it signs."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey


@dataclass
class Authority:
    name: str = "Private CA"
    key: Key = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def __post_init__(self) -> None:
        self.certificate = self._sign(self.name, self.key, timedelta(days=1), is_authority=True)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(self, name: str, lifetime: timedelta = timedelta(days=1)) -> tuple[str, str]:
        """The certificate and the key of `name`, or of 127.0.0.1, as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(name, key, lifetime, is_authority=False)
        return certificate.public_bytes(Encoding.PEM).decode(), as_pem(key)

    def _sign(self, name: str, key: Key, lifetime: timedelta, is_authority: bool) -> x509.Certificate:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(named(name))
            .issuer_name(named(self.name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + lifetime)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
                critical=False,
            )
            .sign(self.key, SHA256())
        )


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def as_pem(key: Key, passphrase: str = "") -> str:
    cipher = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, cipher).decode()
