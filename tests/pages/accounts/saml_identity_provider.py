"""A SAML identity provider: pysaml2's, as a process of its own or in that of a test.

It signs anybody in as anybody, and answers with a fault where the form asks for one.
"""

from __future__ import annotations

import html
import sys
from base64 import b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from saml2 import BINDING_HTTP_REDIRECT
from saml2.authn_context import PASSWORDPROTECTEDTRANSPORT
from saml2.config import IdPConfig
from saml2.metadata import entity_descriptor
from saml2.saml import NAMEID_FORMAT_EMAILADDRESS, NAMEID_FORMAT_PERSISTENT, NAMEID_FORMAT_TRANSIENT, NameID
from saml2.server import Server
from saml2.xmldsig import DIGEST_SHA1, DIGEST_SHA256, SIG_RSA_SHA1, SIG_RSA_SHA256

from tests.support.certificates import named

OTHER = "https://other.example.org/saml"
PEOPLE: dict[str, dict[str, Any]] = {
    "1": {"uid": "ann", "mail": "ann@example.org", "isMemberOf": ["dask", "others"]},
    "2": {"uid": "superuser", "mail": "nobody@example.org"},
    "3": {"uid": "olga", "mail": "owner@example.org"},
    "4": {"uid": "anna", "mail": "Ann@example.org"},
    "5": {"uid": "<b>" + "x" * 300, "mail": "no address"},
}


@dataclass
class IdentityProvider:
    """Keys in a folder, and the answers that they sign."""

    url: str
    folder: Path
    program: str
    """xmlsec1"""
    service_provider: str = ""
    """the metadata of the site that asks"""
    servers: dict[str, Server] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("own", "other"):
            if not (self.folder / f"{name}.pem").exists():
                write_key(self.folder, name)

    @property
    def entity_id(self) -> str:
        return f"{self.url}/metadata"

    @cached_property
    def metadata(self) -> str:
        return str(entity_descriptor(self._configuration("own", 5)))

    def answer(self, request: str, person: str, fault: str = "") -> tuple[str, str]:
        """The URL to post to, and the response as XML, to a request as it is in the URL."""
        server = self._server(fault)
        asked = server.parse_authn_request(request, BINDING_HTTP_REDIRECT)
        wanted = server.response_args(asked.message)
        url = wanted["destination"]
        if fault == "refused":
            return url, str(
                server.create_error_response(wanted["in_response_to"], url, info=ValueError("no"))
            )
        is_old = fault == "sha1"
        answer = server.create_authn_response(
            PEOPLE[person],
            in_response_to=None if fault == "unasked" else wanted["in_response_to"],
            destination=OTHER if fault == "other recipient" else url,
            sp_entity_id=OTHER if fault == "other audience" else wanted["sp_entity_id"],
            name_id=name_id(person, fault),
            authn={"class_ref": PASSWORDPROTECTEDTRANSPORT, "authn_auth": self.url},
            issuer=OTHER if fault == "other issuer" else None,
            sign_assertion=fault not in ("unsigned", "response signed"),
            sign_response=fault == "response signed",
            sign_alg=SIG_RSA_SHA1 if is_old else SIG_RSA_SHA256,
            digest_alg=DIGEST_SHA1 if is_old else DIGEST_SHA256,
        )
        return url, str(answer)

    def _server(self, fault: str) -> Server:
        kind = fault if fault in ("other key", "expired") else ""
        if kind not in self.servers:
            key = "other" if kind == "other key" else "own"
            self.servers[kind] = Server(config=self._configuration(key, -10 if kind == "expired" else 5))
        return self.servers[kind]

    def _configuration(self, key: str, minutes: int) -> IdPConfig:
        policy = {"lifetime": {"minutes": minutes}, "attribute_restrictions": None}
        endpoints = {"single_sign_on_service": [(f"{self.url}/sso", BINDING_HTTP_REDIRECT)]}
        given = {
            "entityid": self.entity_id,
            "service": {"idp": {"endpoints": endpoints, "policy": {"default": policy}}},
            "key_file": str(self.folder / f"{key}.key"),
            "cert_file": str(self.folder / f"{key}.pem"),
            "xmlsec_binary": self.program,
            "metadata": {"inline": [self.service_provider]} if self.service_provider else {},
        }
        return IdPConfig().load(given)


def name_id(person: str, fault: str) -> NameID:
    if fault == "email as id":
        return NameID(format=NAMEID_FORMAT_EMAILADDRESS, text=PEOPLE[person]["mail"])
    kind = NAMEID_FORMAT_TRANSIENT if fault == "transient" else NAMEID_FORMAT_PERSISTENT
    return NameID(format=kind, text=person)


def write_key(folder: Path, name: str) -> None:
    key, now = rsa.generate_private_key(65537, 2048), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / f"{name}.key").write_bytes(private)
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))


ASK = """<!doctype html><title>Identity provider</title><form method="post" action="/answer">
<input type="hidden" name="request" value="{request}"><input type="hidden" name="fault">
<select name="person" aria-label="Person">{people}</select><button>Sign in</button></form>"""
ANSWER = """<!doctype html><title>Identity provider</title><form method="post" action="{url}">
<input type="hidden" name="SAMLResponse" value="{response}">
<input type="hidden" name="RelayState" value="https://evil.example.org/"><button>Continue</button></form>"""


class Handler(BaseHTTPRequestHandler):
    provider: IdentityProvider
    service_provider: str
    """the address of the site's metadata, which is there later than this process"""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/metadata":
            self._send(self.provider.metadata, "application/samlmetadata+xml")
            return
        request = html.escape(parse_qs(url.query)["SAMLRequest"][0])
        people = "".join(f'<option value="{key}">{each["uid"]}</option>' for key, each in PEOPLE.items())
        self._send(ASK.format(request=request, people=people))

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        form = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
        if not self.provider.service_provider:
            with urlopen(self.service_provider, timeout=120) as answer:
                self.provider.service_provider = answer.read().decode()
        url, response = self.provider.answer(form["request"], form["person"], form.get("fault", ""))
        encoded = b64encode(response.encode()).decode()
        self._send(ANSWER.format(url=html.escape(url), response=encoded))

    def _send(self, text: str, kind: str = "text/html; charset=utf-8") -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(port: str, folder: str, program: str, service_provider: str) -> None:
    Handler.provider = IdentityProvider(f"http://localhost:{port}", Path(folder), program)
    Handler.service_provider = service_provider
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
