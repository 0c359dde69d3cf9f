"""Settings of the SAML identity provider that signs people in, from the environment."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured

from observatory.base.environment import boolean, text, words
from observatory.base.sign_in.oidc import SECURE

ENTITY_ID = re.compile(r"[^\s\"'<>&]{1,1024}")
"""python3-saml writes ids into XML as they are"""
INSTALL = "pip install 'dask-observatory[saml]'"
PATH = "/sign-in/saml/"
EMAILS = (
    "email mail urn:oid:0.9.2342.19200300.100.1.3 urn:oid:1.2.840.113549.1.9.1 "
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress"
)
USER_NAMES = (
    "username uid urn:oid:0.9.2342.19200300.100.1.1 "
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name"
)


@dataclass(frozen=True, slots=True)
class Saml:
    """An identity provider, and this site as its service provider."""

    issuer: str
    """the entity id of the identity provider"""
    metadata: str
    """the address of its metadata, or the path of a file with them"""
    entity_id: str
    """this site's"""
    site: str
    """OBSERVATORY_PUBLIC_URL"""
    name: str
    """on the button"""
    id_attribute: str
    """what identifies a person; "" : the NameID"""
    email_attributes: list[str]
    user_name_attributes: list[str]
    groups_attribute: str
    """"" : groups give no roles"""
    trusts_email: bool
    """whether an address that the identity provider names is verified"""

    app: ClassVar[str] = "allauth.socialaccount.providers.saml"
    begin: ClassVar[str] = "saml_login"
    """the name of the page that begins a sign-in"""

    @property
    def provider(self) -> str:
        """What accounts are kept under: an id is never taken for one of another identity provider or kind."""
        kept_by = f"{self.issuer} {self.id_attribute}"
        return f"saml-{hashlib.sha256(kept_by.encode()).hexdigest()[:16]}"

    @property
    def acs_url(self) -> str:
        """Where the identity provider sends people (assertion consumer service)."""
        return f"{self.site}{PATH}acs/"

    @property
    def providers(self) -> dict[str, Any]:
        """allauth's SOCIALACCOUNT_PROVIDERS."""
        app = {
            "provider_id": self.provider,
            "name": self.name,
            "client_id": self.provider,
            "settings": {"attribute_mapping": {name: name for name in ("uid", "email", "username")}},
        }
        return {"saml": {"APPS": [app]}}


def saml(site: str) -> Saml | None:
    """None without OBSERVATORY_SAML_ISSUER. `site` is OBSERVATORY_PUBLIC_URL."""
    issuer = text("OBSERVATORY_SAML_ISSUER", "")
    metadata = text("OBSERVATORY_SAML_METADATA", "")
    if not issuer and not metadata:
        return None
    if not issuer or not metadata:
        raise ImproperlyConfigured("OBSERVATORY_SAML_ISSUER and OBSERVATORY_SAML_METADATA need each other")
    if not metadata.startswith("/") and not SECURE.fullmatch(metadata.partition("?")[0]):
        raise ImproperlyConfigured(
            f"OBSERVATORY_SAML_METADATA is {metadata!r}: it must be the https:// address of the identity "
            "provider's metadata, or the path of a file, which begins with /"
        )
    if not site:
        raise ImproperlyConfigured("OBSERVATORY_SAML_ISSUER needs OBSERVATORY_PUBLIC_URL")
    if find_spec("onelogin") is None:
        raise ImproperlyConfigured(f"OBSERVATORY_SAML_ISSUER needs python3-saml: {INSTALL}")
    return Saml(
        issuer=_entity_id("OBSERVATORY_SAML_ISSUER", issuer),
        metadata=metadata,
        entity_id=_entity_id(
            "OBSERVATORY_SAML_ENTITY_ID", text("OBSERVATORY_SAML_ENTITY_ID", f"{site}{PATH}metadata/")
        ),
        site=site,
        name=text("OBSERVATORY_SAML_NAME", "single sign-on"),
        id_attribute=text("OBSERVATORY_SAML_ID_ATTRIBUTE", ""),
        email_attributes=words("OBSERVATORY_SAML_EMAIL_ATTRIBUTE", EMAILS),
        user_name_attributes=words("OBSERVATORY_SAML_USER_NAME_ATTRIBUTE", USER_NAMES),
        groups_attribute=text("OBSERVATORY_SAML_GROUPS_ATTRIBUTE", ""),
        trusts_email=boolean("OBSERVATORY_SAML_TRUST_EMAIL", False),
    )


def _entity_id(variable: str, value: str) -> str:
    if not ENTITY_ID.fullmatch(value):
        raise ImproperlyConfigured(
            f"{variable} is {value!r}: it must be an entity id, without spaces, quotes and < > &"
        )
    return value
