"""Certificates and keys as PEM: checked, described, and made a TLS context."""

from __future__ import annotations

import os
import ssl
from datetime import UTC, datetime
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

LONGEST = 512 * 2**10
"""Most characters of a PEM text: a system's bundle of authorities has some 220,000."""
LONGEST_NAME = 100


class CertificateError(ValueError):
    """A PEM text that cannot be used; the message is shown to users. `field`: "" or that at fault."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def read_certificates(pem: str) -> list[x509.Certificate]:
    """The certificates of a PEM text. Raises CertificateError."""
    if len(pem) > LONGEST:
        raise CertificateError(f"This is longer than {LONGEST // 2**10} KiB.")
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError(
            "This is no certificate in PEM format: paste the lines from -----BEGIN CERTIFICATE----- on."
        ) from None


def check_authorities(pem: str) -> None:
    """Raises CertificateError unless these are certificates that OpenSSL accepts as authorities."""
    _refuse_expired(read_certificates(pem))
    tls_context(pem, "", "")


def check_client_certificate(certificate: str, key: str) -> None:
    """Raises CertificateError unless the certificate is valid and the key is its own."""
    own, *_ = read_certificates(certificate)
    _refuse_expired([own])
    if len(key) > LONGEST:
        raise CertificateError(f"This is longer than {LONGEST // 2**10} KiB.", "key")
    try:
        private = load_pem_private_key(key.encode(), password=None)
    except TypeError:
        raise CertificateError(
            "The key is encrypted. Remove its passphrase (openssl pkey -in FILE).", "key"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError("This is no private key in PEM format.", "key") from None
    if private.public_key() != own.public_key():
        raise CertificateError("The key is not that of the client certificate.", "key")


def describe_certificate(pem: str) -> str:
    """Whose it is, and until when: of the first certificate of a PEM text that was checked."""
    first, *others = read_certificates(pem)
    name = first.subject.rfc4514_string()[:LONGEST_NAME] or "a certificate without a name"
    more = f" and {len(others)} more" if others else ""
    return f"{name}, valid until {first.not_valid_after_utc:%Y-%m-%d}{more}"


def _refuse_expired(certificates: list[x509.Certificate]) -> None:
    now = datetime.now(UTC)
    if all(one.not_valid_after_utc < now for one in certificates):
        raise CertificateError(f"The certificate expired on {certificates[0].not_valid_after_utc:%Y-%m-%d}.")


@lru_cache(maxsize=256)
def tls_context(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    """A client's TLS context. Equal texts share one, and with it their connections.

    `ca` replaces the system's authorities. Raises CertificateError for what OpenSSL refuses.
    """
    try:
        context = ssl.create_default_context(cadata=ca or None)
        if certificate:
            _load(context, f"{certificate}\n{key}\n")
    except ssl.SSLError as error:
        raise CertificateError(f"OpenSSL does not accept it: {error.reason or 'invalid'}.") from None
    return context


def _load(context: ssl.SSLContext, chain: str) -> None:
    """Loads a certificate and its key, which OpenSSL reads from files only: this one is in memory."""
    descriptor = os.memfd_create("client certificate")
    with os.fdopen(descriptor, "w") as file:
        file.write(chain)
        file.flush()
        # without the password OpenSSL would ask for one on the terminal
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: "")
