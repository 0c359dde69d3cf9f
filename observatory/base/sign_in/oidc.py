"""Settings of the OpenID Connect issuer that signs people in, from the environment."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.exceptions import ImproperlyConfigured

from observatory.base.environment import text, words

SECURE = re.compile(
    r"https://[^\s/?#@]+(/[^\s?#]*)?|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s?#]*)?"
)


@dataclass(frozen=True, slots=True)
class Oidc:
    """An issuer, and this site as its client."""

    issuer: str
    client_id: str
    client_secret: str
    name: str
    """on the button"""
    scopes: list[str]
    groups_claim: str
    """"" : groups give no roles"""

    app: ClassVar[str] = "allauth.socialaccount.providers.openid_connect"
    begin: ClassVar[str] = "openid_connect_login"
    """the name of the page that begins a sign-in"""

    @property
    def provider(self) -> str:
        """What accounts are kept under: that of one issuer is never taken for that of another."""
        return f"oidc-{hashlib.sha256(self.issuer.encode()).hexdigest()[:16]}"

    @property
    def providers(self) -> dict[str, Any]:
        """allauth's SOCIALACCOUNT_PROVIDERS."""
        app = {
            "provider_id": self.provider,
            "name": self.name,
            "client_id": self.client_id,
            "secret": self.client_secret,
            "settings": {"server_url": self.issuer, "scope": self.scopes, "oauth_pkce_enabled": True},
        }
        return {"openid_connect": {"APPS": [app]}}


def oidc() -> Oidc | None:
    """None without OBSERVATORY_OIDC_ISSUER."""
    issuer = text("OBSERVATORY_OIDC_ISSUER", "").rstrip("/")
    if not issuer:
        return None
    if not SECURE.fullmatch(issuer):
        raise ImproperlyConfigured(
            f"OBSERVATORY_OIDC_ISSUER is {issuer!r}: it must be the https:// address of the issuer"
        )
    client_id = text("OBSERVATORY_OIDC_CLIENT_ID", "")
    secret = text("OBSERVATORY_OIDC_CLIENT_SECRET", "")
    if not client_id or not secret:
        raise ImproperlyConfigured(
            "OBSERVATORY_OIDC_ISSUER needs OBSERVATORY_OIDC_CLIENT_ID and OBSERVATORY_OIDC_CLIENT_SECRET"
        )
    scopes = words("OBSERVATORY_OIDC_SCOPES", "openid profile email")
    if "openid" not in scopes:
        raise ImproperlyConfigured("OBSERVATORY_OIDC_SCOPES must contain openid")
    name = text("OBSERVATORY_OIDC_NAME", "single sign-on")
    return Oidc(issuer, client_id, secret, name, scopes, text("OBSERVATORY_OIDC_GROUPS_CLAIM", ""))
