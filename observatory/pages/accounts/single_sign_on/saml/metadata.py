"""The metadata of the identity provider: its address, and the certificates of its signatures."""

from __future__ import annotations

import logging
import time
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests
from cryptography.x509 import load_der_x509_certificate
from django.core.cache import cache

from observatory.base.sign_in.oidc import SECURE
from observatory.base.sign_in.saml import Saml
from observatory.pages.accounts.single_sign_on.saml.toolkit import Xml, XMLSyntaxError

REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
LARGEST = 2 << 20
"""bytes"""
TIMEOUT = 10
"""seconds for an answer"""
FRESH = 3600
"""seconds until it is read again"""
AGAIN = 60
"""seconds until it is read again where that failed"""
KEPT = 86400
"""seconds that it counts while its address does not answer"""

log = logging.getLogger(__name__)


class MetadataError(Exception):
    """There is no usable metadata. The message is for the administrator."""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    entity_id: str
    sign_in_url: str
    certificates: list[str]
    """base64 of DER"""

    @property
    def settings(self) -> dict[str, Any]:
        """python3-saml's."""
        return {
            "entityId": self.entity_id,
            "singleSignOnService": {"url": self.sign_in_url, "binding": REDIRECT},
            "x509certMulti": {"signing": self.certificates},
        }


def identity_provider(saml: Saml) -> IdentityProvider:
    """What the metadata say now. Raises MetadataError."""
    if saml.metadata.startswith("/"):
        return parsed(_file(Path(saml.metadata)), saml.issuer)
    return _of_address(saml)


def parsed(text: bytes, issuer: str) -> IdentityProvider:
    """The identity provider `issuer` of metadata. Raises MetadataError."""
    try:
        root = Xml.to_etree(text)
    except (XMLSyntaxError, ValueError) as error:  # the latter for document types
        raise MetadataError(f"it is not XML: {error}") from None
    found = Xml.query(root, "//md:EntityDescriptor[@entityID=$tagid][md:IDPSSODescriptor]", None, issuer)
    if len(found) != 1:
        named = ", ".join(map(str, Xml.query(root, "//md:EntityDescriptor/@entityID")[:3])) or "none"
        raise MetadataError(f"it has no identity provider {issuer} (its entities: {named})")
    for until in Xml.query(found[0], "ancestor-or-self::*/@validUntil"):
        if _time(str(until)) <= datetime.now(UTC):
            raise MetadataError(f"it was valid until {until}")
    path = "md:IDPSSODescriptor/md:SingleSignOnService[@Binding=$tagid]/@Location"
    addresses = [str(address) for address in Xml.query(found[0], path, None, REDIRECT)]
    if not addresses:
        raise MetadataError("it has no SingleSignOnService with the binding HTTP-Redirect")
    if not SECURE.fullmatch(addresses[0].partition("?")[0]):
        raise MetadataError(f"its SingleSignOnService {addresses[0]} is no https:// address")
    keys = "md:IDPSSODescriptor/md:KeyDescriptor[not(@use='encryption')]//ds:X509Certificate"
    certificates = ["".join((Xml.element_text(each) or "").split()) for each in Xml.query(found[0], keys)]
    if not certificates:
        raise MetadataError("it has no certificate for signatures")
    for certificate in certificates:
        _check_certificate(certificate)
    return IdentityProvider(issuer, addresses[0], certificates)


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise MetadataError(f"its validUntil is no time: {text}") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _check_certificate(certificate: str) -> None:
    try:
        load_der_x509_certificate(b64decode(certificate, validate=True)).public_key()
    except (Base64Error, ValueError) as error:
        raise MetadataError(f"one of its certificates is not valid: {error}") from None


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST + 1)
    except OSError as error:
        raise MetadataError(f"it can't be read: {error}") from None
    return _bounded(text)


def kept_as(saml: Saml) -> str:
    """The key in the cache."""
    return f"saml-metadata:{saml.metadata}:{saml.issuer}"


def _of_address(saml: Saml) -> IdentityProvider:
    key, now = kept_as(saml), time.time()
    known = _known(cache.get(key), saml.issuer, now)
    if known is not None and now < known[1]["again"]:
        return known[0]
    try:
        text = _fetched(saml.metadata)
        found = parsed(text, saml.issuer)
    except MetadataError as error:
        if known is None:
            raise
        log.warning("the metadata of the SAML identity provider can't be read again: %s", error)
        cache.set(key, {**known[1], "again": now + AGAIN}, KEPT)
        return known[0]
    cache.set(key, {"text": text, "fetched": now, "again": now + FRESH}, KEPT)
    return found


def _known(kept: Any, issuer: str, now: float) -> tuple[IdentityProvider, dict[str, Any]] | None:
    """What is in the cache, if it still counts."""
    if kept is None or now > kept["fetched"] + KEPT:
        return None
    try:
        return parsed(kept["text"], issuer), kept
    except MetadataError:  # validUntil
        return None


def _fetched(url: str) -> bytes:
    deadline = time.monotonic() + TIMEOUT
    text = b""
    try:
        with requests.get(url, timeout=TIMEOUT, stream=True, allow_redirects=False) as answer:
            if answer.status_code != 200:
                raise MetadataError(f"{url} answers {answer.status_code}")
            for piece in answer.iter_content(1 << 16):
                text += piece
                if len(text) > LARGEST or time.monotonic() > deadline:
                    break
    except requests.RequestException as error:
        raise MetadataError(f"{url} does not answer: {error}") from None
    if time.monotonic() > deadline:
        raise MetadataError(f"{url} takes longer than {TIMEOUT} s")
    return _bounded(text)


def _bounded(text: bytes) -> bytes:
    if len(text) > LARGEST:
        raise MetadataError(f"it has more than {LARGEST >> 20} MiB")
    return text
