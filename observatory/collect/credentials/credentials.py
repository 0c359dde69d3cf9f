"""What a server asks for: a user name and password, a token, headers, certificates."""

from __future__ import annotations

import base64
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from observatory.collect.credentials.certificates import (
    CertificateError,
    check_authorities,
    check_client_certificate,
    describe_certificate,
    tls_context,
)

PARTS: Mapping[str, tuple[str, ...]] = {
    "basic": ("username", "password"),
    "token": ("token",),
    "headers": ("headers",),
    "ca": ("ca",),
    "certificate": ("certificate", "key"),
}
"""What can be stored and removed, and its fields."""
LABELS: Mapping[str, str] = {
    "basic": "user name and password",
    "token": "bearer token",
    "headers": "headers",
    "ca": "certificates of authorities",
    "certificate": "client certificate and key",
}
SECRET = frozenset(PARTS) - {"ca"}
LONGEST = 8 * 2**10
"""Most characters of a password, token or header."""
MOST_HEADERS = 20
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
OF_THE_CLIENT = {
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
"""Headers that the HTTP client sets itself."""


class CredentialsError(ValueError):
    """Credentials that cannot be sent. The message is shown to users and has no secret in it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is sent to one target. Empty texts are not sent."""

    username: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    headers: str = field(default="", repr=False)
    """One "Name: value" a line."""
    ca: str = field(default="", repr=False)
    """Certificates of the authorities to trust instead of the system's, as PEM."""
    certificate: str = field(default="", repr=False)
    """A client certificate, with its chain, as PEM."""
    key: str = field(default="", repr=False)
    """Its private key, as PEM."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Credentials:
        """The credentials with these fields. Raises TypeError for unknown fields."""
        return cls(**{name: str(value) for name, value in fields.items()})

    def as_fields(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value}

    def parts(self) -> list[str]:
        """The names of the parts that there are."""
        return [part for part in PARTS if self.has(part)]

    def has(self, part: str) -> bool:
        return any(getattr(self, name) for name in PARTS[part])

    def without(self, part: str) -> Credentials:
        return replace(self, **dict.fromkeys(PARTS[part], ""))

    def request_headers(self) -> dict[str, str]:
        """The headers of a request. The credentials have been checked."""
        headers = dict(_lines(self.headers))
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        elif self.username or self.password:
            pair = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers

    def tls(self) -> ssl.SSLContext | bool:
        """The TLS settings for aiohttp; True: the usual ones. The credentials have been checked."""
        if not self.ca and not self.certificate:
            return True
        return tls_context(self.ca, self.certificate, self.key)

    def describe(self, part: str) -> str:
        """What is stored of a part, without secrets."""
        if part in {"ca", "certificate"}:
            return describe_certificate(getattr(self, part))
        return LABELS[part]

    def check(self) -> None:
        """Raises CredentialsError for the first field that cannot be sent."""
        if self.username and not self.password:
            raise CredentialsError("password", "Enter the password of the user name.")
        if self.password and not self.username:
            raise CredentialsError("username", "Enter the user name of the password.")
        if ":" in self.username:
            raise CredentialsError("username", "A user name has no colon.")
        for name in ("username", "password", "token"):
            _check_text(name, getattr(self, name))
        if self.token and not self.token.isascii():
            raise CredentialsError("token", "A token consists of ASCII characters.")
        self._check_headers()
        self._check_certificates()

    def _check_headers(self) -> None:
        names: list[str] = []
        for name, value in _lines(self.headers):
            if not HEADER_NAME.fullmatch(name):
                raise CredentialsError("headers", "Write one header a line, as in X-Name: value.")
            if name.lower() in OF_THE_CLIENT or name.lower().startswith("sec-websocket"):
                raise CredentialsError("headers", f"The header {name} cannot be set.")
            if name.lower() in names:
                raise CredentialsError("headers", f"The header {name} is there twice.")
            if not value or not value.isascii():
                raise CredentialsError("headers", f"The header {name} needs a value of ASCII characters.")
            _check_text("headers", value)
            names.append(name.lower())
        if len(names) > MOST_HEADERS:
            raise CredentialsError("headers", f"At most {MOST_HEADERS} headers can be sent.")
        ways = [self.has("basic"), bool(self.token), "authorization" in names]
        if sum(ways) > 1:
            raise CredentialsError(
                "token",
                "A user name, a token and a header Authorization exclude each other: enter one of them, "
                "and remove what is stored of the others.",
            )

    def _check_certificates(self) -> None:
        if self.key and not self.certificate:
            raise CredentialsError("certificate", "Enter the certificate of the key.")
        if self.certificate and not self.key:
            raise CredentialsError("key", "Enter the private key of the client certificate.")
        name = "ca"
        try:
            if self.ca:
                check_authorities(self.ca)
            if self.certificate:
                name = "certificate"
                check_client_certificate(self.certificate, self.key)
                tls_context(self.ca, self.certificate, self.key)
        except CertificateError as error:
            raise CredentialsError(error.field or name, str(error)) from None


def _lines(headers: str) -> Iterator[tuple[str, str]]:
    """Names and values of lines "Name: value"."""
    for line in headers.splitlines():
        if line.strip():
            name, _, value = line.partition(":")
            yield name.strip(), value.strip()


def _check_text(name: str, value: str) -> None:
    if len(value) > LONGEST:
        raise CredentialsError(name, f"This is longer than {LONGEST:,} characters.")
    if value and not value.isprintable():
        raise CredentialsError(name, "This has line breaks or other characters that cannot be sent.")
